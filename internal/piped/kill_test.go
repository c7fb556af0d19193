package piped_test

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/piped/contract"
)

// killer kills the plugin for each thing that it is told, the first few times.
type killer struct {
	mu    sync.Mutex
	seen  map[string]int
	most  int // times for each
	kills int
	now   func()
}

// told reports whether the plugin was killed.
func (k *killer) told(what string) bool {
	k.mu.Lock()
	k.seen[what]++
	fresh := k.seen[what] <= k.most
	if fresh {
		k.kills++
	}
	k.mu.Unlock()
	if fresh {
		k.now()
	}
	return fresh
}

// killer kills the plugin by a signal that it cannot see, and returns when it is
// dead.
func (r *rig) killer(most int) *killer {
	return &killer{seen: map[string]int{}, most: most, now: func() {
		p := r.plugin
		_ = p.cmd.Process.Kill()
		<-p.ended
	}}
}

// insist executes a stage again and again, as pipeds that are started again do,
// until it ends.
func (d *deployment) insist(s *contract.PipelineStage) {
	d.rig.Helper()
	for n := 0; ; n++ {
		status, err := d.execute(context.Background(), s)
		switch {
		case err == nil && status == contract.StageStatus_STAGE_SUCCESS:
			return
		case err == nil || n > 200:
			d.rig.Fatalf("%s: %s %v\n%s\n%s", s.GetName(), status, err, d.rig.piped.text(s.GetId()), d.rig.plugin.out)
		}
		d.rig.restart()
	}
}

func all(d *deployment) {
	for _, s := range d.forward() {
		d.insist(s)
	}
}

// backAfter is the rollback after the n-th stage.
func backAfter(n int) func(*deployment) {
	return func(d *deployment) {
		for _, s := range d.forward()[:n] {
			d.insist(s)
		}
		d.insist(d.back())
	}
}

// The plugin is killed before and after every value that it saves, and every stage
// is executed again from the start: the end is that of a run without kills. In
// virtual time this is done at every point of every course (TestKilledAnywhereInPiped);
// here real processes die.
func TestKilledAtEverySave(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-long runs it")
	}
	t.Parallel()
	for name, o := range ends() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, external+quick)
			r.flow()
			d, k := r.usual(), r.killer(1)
			r.piped.set(func() {
				r.piped.lost = func(key string) bool { return *everyKill && k.told("before "+key) }
				r.piped.put = func(key, value string) { k.told("after " + key + timeless(key, value)) }
			})
			o.stages(d)
			if k.kills < 10 {
				t.Errorf("only %d kills", k.kills)
			}
			r.ended(o.version)
		})
	}
}

// timeless is the value without what is another one in each attempt: killed at
// each of those, no stage would ever end.
func timeless(key, value string) string {
	if strings.HasSuffix(key, "claim") {
		return ""
	}
	return shiftTime.ReplaceAllString(value, "")
}

var shiftTime = regexp.MustCompile(`"shiftedAt":"[^"]*"`)

// The plugin is killed before each kind of write reaches AWS, and between the call
// and its answer: AWS has done what was asked, and nobody heard of it.
func TestKilledBetweenCallAndAnswer(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-long runs it")
	}
	t.Parallel()
	for name, o := range ends() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, external+quick)
			r.flow()
			k := r.killer(map[bool]int{true: 6, false: 1}[*everyKill])
			r.through(func(call string, pass func() http.Handler) http.Handler {
				if !account.IsWrite(call) {
					return pass()
				}
				if k.told("before " + call) {
					return nil
				}
				answer := pass()
				if k.told("after " + call) {
					return nil
				}
				return answer
			})
			o.stages(r.usual())
			if k.kills < 10 {
				t.Errorf("only %d kills", k.kills)
			}
			t.Logf("%d kills", k.kills)
			r.ended(o.version)
		})
	}
}

type end struct {
	stages  func(*deployment)
	version string
}

func ends() map[string]end {
	return map[string]end{"forward": {all, "v2"}, "back after traffic": {backAfter(2), "v1"},
		"back after promotion": {backAfter(3), "v1"}}
}

// ended wants a version to serve alone, nothing left and no request lost.
func (r *rig) ended(version string) {
	r.Helper()
	r.want(serves(version))
	r.noneLost()
	r.free()
	if n := len(r.definitions()); n != 2 {
		r.Errorf("%d revisions are registered, want the old and the new", n)
	}
}

// piped itself was killed: its metadata come from the control plane, the plugin is
// another process, the stage that ran is executed again.
func TestHazard01StageExecutedAgainMakesNothingTwice(t *testing.T) {
	t.Parallel()
	r := newRig(t, external+quick)
	r.flow()
	d := r.usual()
	for _, s := range d.forward() {
		d.run(s)
		state, revisions := r.state(), len(r.definitions())
		r.restart()
		d.run(s)
		if now := r.state(); now != state || len(r.definitions()) != revisions {
			t.Errorf("%s again: %s, before %s", s.GetName(), now, state)
		}
		if log := r.piped.text(s.GetId()); strings.Count(log, "ecs:CreateTaskSet") > 1 {
			t.Errorf("%s made a second task set:\n%s", s.GetName(), log)
		}
	}
	r.ended("v2")
}
