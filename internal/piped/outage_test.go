package piped_test

import (
	"slices"
	"strings"
	"testing"
)

// outageCourses are the ways to deploy whose stages must survive an outage, forward and back.
var outageCourses = []string{"task sets", "task sets, rolled back after stage 3", "task sets, quick",
	"task sets, with auto scaling", "beside", "beside, rolled back after stage 2", "rolling", "rolling, back",
	"by name", "CodeDeploy", "CodeDeploy, back", "standalone", "task sets, unchanged", "rolling, unchanged",
	"CodeDeploy, unchanged"}

// Piped cannot pause a stage. If AWS stops to answer at any call of a stage, for longer than
// each call is tried, the stage continues when AWS answers again, and the end is the same.
func TestStageContinuesAfterAnOutageAtAnyCall(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-long runs it")
	}
	t.Parallel()
	count := 0
	for _, name := range outageCourses {
		c := courses()[name]
		whole := c.play(t, point{})
		if whole.failed > 0 || !whole.ended() {
			t.Errorf("%s, without an outage: %s\n%s", name, whole, whole.log)
			continue
		}
		for n := 1; n <= whole.calls; n++ {
			if count++; !*everyKill && whole.calls > 30 && n > 4 && n < whole.calls-2 && count%23 != 0 {
				continue
			}
			as := []string{"refused", "page", "closed"}[n%3]
			at := point{outage: "outage *:* as=" + as + " for=400s", n: n}
			switch end := c.play(t, at); {
			case !end.same(whole):
				t.Errorf("%s, %s: %s\nwithout an outage: %s\n%s", name, at, end, whole, end.log)
			case !strings.Contains(end.log, "AWS responds again after "):
				t.Errorf("%s, %s: the log does not tell of an outage of more than five minutes:\n%s", name, at, end.log)
			}
		}
	}
	t.Logf("%d calls", count)
}

// An outage while the stage reads whether the revision of the files serves is no verdict: that its tasks are lost is seen
// when AWS answers again, and a new deployment starts them.
func TestOutageHidesNoLostTasks(t *testing.T) {
	t.Parallel()
	c := course{world: rolling, target: source{image: "sim/web:v1", app: appFile(""), service: rollingFile}, again: true,
		taskless: true}
	whole := c.play(t, point{})
	for n := 1; n <= whole.calls && n <= 20; n++ {
		end := c.play(t, point{outage: "outage *:* as=refused for=400s", n: n})
		if !slices.Equal(end.ends, whole.ends) || end.stands != whole.stands {
			t.Errorf("outage from call %d on: %s\nwithout an outage: %s\n%s", n, end, whole, end.log)
		}
	}
}
