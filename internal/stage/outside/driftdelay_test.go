package outside_test

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// looks is how long a change may go unnoticed within a stage: ten seconds between
// two looks, and six until the second one that must show it too.
const looks = 20 * time.Second

// In the middle of a stage, while tasks start or drain, what somebody else changes
// is noticed at the next look, not by the next stage.
func TestOutsideChangeInTheMiddleOfAStage(t *testing.T) {
	const pipeline = stagetest.CanaryPipeline
	one := func(b *stagetest.Bench) fstest.MapFS { return b.Files("sim/web:v2", pipeline) }
	beside := func(b *stagetest.Bench) fstest.MapFS {
		return b.CanaryServiceFiles("sim/web:v2", pipeline, stagetest.Breaker)
	}
	edit := func(b *stagetest.Bench) { b.SetRule(70, 30) }
	for name, c := range map[string]struct {
		files func(*stagetest.Bench) fstest.MapFS
		on    func(testing.TB, func(*stagetest.Bench))
		stage string
		after time.Duration // the stage began
		do    func(*stagetest.Bench)
		stop  sluice.Outcome
		loses bool // what was done loses requests itself, until it is noticed
	}{
		"a rule while the canary starts": {one, stagetest.RunPlain, "ECS_CANARY_ROLLOUT", 15 * time.Second, edit,
			sluice.Failed, true},
		"a rule while the new primary starts": {one, stagetest.RunPlain, "ECS_PRIMARY_ROLLOUT", 15 * time.Second, edit,
			sluice.Failed, false},
		"a rule while the old primary drains": {one, stagetest.RunPlain, "ECS_PRIMARY_ROLLOUT", time.Minute, edit,
			sluice.Failed, false},
		"a rule put back while the canary drains": {one, stagetest.RunPlain, "ECS_CANARY_CLEAN", 16 * time.Second, edit,
			sluice.RolledBack, true},
		"a rule while ECS rolls": {beside, stagetest.RunRolling, "ECS_PRIMARY_ROLLOUT", 20 * time.Second, edit,
			sluice.Failed, false},
		"what serves while the new primary starts": {one, stagetest.RunPlain, "ECS_PRIMARY_ROLLOUT", 15 * time.Second,
			func(b *stagetest.Bench) { b.ScaleTaskSet(true, 50) }, sluice.RolledBack, false},
		"who is primary while the new one starts": {one, stagetest.RunPlain, "ECS_PRIMARY_ROLLOUT", 15 * time.Second,
			func(b *stagetest.Bench) { b.PromoteCanary() }, sluice.RolledBack, false},
		"the new primary while the old one drains": {one, stagetest.RunPlain, "ECS_PRIMARY_ROLLOUT", time.Minute,
			func(b *stagetest.Bench) { b.ScaleTaskSet(true, 50) }, sluice.RolledBack, false},
		"the canary while it starts": {one, stagetest.RunPlain, "ECS_CANARY_ROLLOUT", 15 * time.Second,
			func(b *stagetest.Bench) { b.ScaleTaskSet(false, 25) }, sluice.RolledBack, false},
		"auto scaling while the new primary starts": {one, scaling, "ECS_PRIMARY_ROLLOUT", 15 * time.Second,
			func(b *stagetest.Bench) { b.Scalable(2, 8, sluice.Suspension{}) }, sluice.RolledBack, false},
		"auto scaling while ECS rolls": {beside, scalingRolls, "ECS_PRIMARY_ROLLOUT", 20 * time.Second,
			func(b *stagetest.Bench) { b.Scalable(2, 8, sluice.Suspension{}) }, sluice.RolledBack, false},
	} {
		for policy, want := range map[string]sluice.Outcome{"stop": c.stop, "reassert": sluice.Succeeded,
			"adopt": sluice.Succeeded} {
			t.Run(name+"/"+policy, func(t *testing.T) {
				t.Parallel()
				c.on(t, func(b *stagetest.Bench) {
					files := stagetest.AddLines(c.files(b), "sluice.yaml", "onOutsideChange: "+policy+"\n")
					if strings.HasPrefix(name, "auto scaling") {
						stagetest.AddLines(files, "sluice.yaml", stagetest.SuspendsScaling)
					}
					ran := b.RunBeside(b.Engine, b.Start(files))
					b.Until(c.stage, func() bool { return strings.Contains(b.EventLog(), c.stage+"] stageStarted") })
					stagetest.Must(b, b.Clock.Sleep(context.Background(), c.after))
					did := b.Clock.Now()
					c.do(b)
					b.Until("it is over", func() bool { return ran.Done })
					stagetest.Must(b, ran.Err)
					expectNoticed(b, did, c.stage)
					if ran.Outcome != want {
						b.Errorf("%s: %s\n%s", ran.Outcome, ran.Cause, b.EventLog())
					}
					if !c.loses {
						b.ExpectNoneLost()
					} else if lost := b.Tally.Report().Failed; lost > 0.3*200*looks.Seconds() {
						b.Errorf("%.0f requests were lost, more than until it was noticed\n%s", lost, b.EventLog())
					}
				})
			})
		}
	}
}

var external = regexp.MustCompile("external change|another process or person|sluice stops managing")

// expectNoticed: somebody else's change is told, soon and in that stage.
func expectNoticed(b *stagetest.Bench, did time.Time, stage string) {
	b.Helper()
	for _, e := range b.Events {
		if e.At.Before(did) || !external.Match(e.Data) {
			continue
		}
		if late := e.At.Sub(did); late > looks || !strings.HasSuffix(e.Stage, stage) {
			b.Errorf("it was noticed %s later, in %s\n%s", late, e.Stage, b.EventLog())
		}
		return
	}
	b.Errorf("it was not noticed\n%s", b.EventLog())
}

func scaling(t testing.TB, f func(*stagetest.Bench)) {
	stagetest.RunPlain(t, func(b *stagetest.Bench) { b.Scalable(2, 8, stagetest.PartlySuspended); f(b) })
}

func scalingRolls(t testing.TB, f func(*stagetest.Bench)) {
	stagetest.RunRolling(t, func(b *stagetest.Bench) { b.Scalable(2, 8, stagetest.PartlySuspended); f(b) })
}
