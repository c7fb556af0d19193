package piped_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/sluice-ecs/sluice/internal/piped/contract"
)

// killer kills the plugin once for each thing that it is told.
type killer struct {
	mu    sync.Mutex
	seen  map[string]bool
	kills int
	now   func()
}

func (k *killer) told(what string) {
	k.mu.Lock()
	fresh := !k.seen[what]
	k.seen[what] = true
	if fresh {
		k.kills++
	}
	k.mu.Unlock()
	if fresh {
		k.now()
	}
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
		case err == nil || n > 60:
			d.rig.Fatalf("%s: %s %v\n%s\n%s", s.GetName(), status, err, d.rig.piped.text(s.GetId()), d.rig.plugin.out)
		}
		d.rig.restart()
	}
}

// killing runs a deployment with the plugin killed at everything that arm tells it,
// and returns how often that was.
func (r *rig) killing(arm func(told func(string)), stages func(d *deployment)) int {
	r.Helper()
	d := r.usual()
	k := &killer{seen: map[string]bool{}, now: func() { _ = r.plugin.cmd.Process.Kill() }}
	arm(k.told)
	stages(d)
	return k.kills
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

// The plugin is killed right after every value that it saves, and every stage is
// executed again from the start: the end is that of a run without kills.
func TestKilledAtEverySave(t *testing.T) {
	t.Parallel()
	for name, o := range ends() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, external+quick)
			r.flow()
			kills := r.killing(func(told func(string)) {
				r.piped.set(func() { r.piped.put = func(key, value string) { told(key + timeless(key, value)) } })
			}, o.stages)
			if kills < 10 {
				t.Errorf("only %d kills", kills)
			}
			r.ended(o.version)
		})
	}
}

// timeless is the value without what is another one in each attempt: killed at
// each of those, no stage would ever end.
func timeless(key, value string) string {
	if strings.HasSuffix(key, "shifted-at") {
		return ""
	}
	return value
}

// The plugin is killed after every write that it makes.
func TestKilledAfterEveryWrite(t *testing.T) {
	t.Parallel()
	for name, o := range ends() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, external+quick)
			r.flow()
			kills := r.killing(func(told func(string)) {
				r.piped.set(func() {
					r.piped.line = func(stage, line string) {
						if written(line) {
							told(stage + line)
						}
					}
				})
			}, o.stages)
			if kills < 5 {
				t.Errorf("only %d kills", kills)
			}
			r.ended(o.version)
		})
	}
}

type end struct {
	stages  func(*deployment)
	version string
}

func ends() map[string]end {
	return map[string]end{"forward": {all, "v2"}, "back after traffic": {backAfter(2), "v1"}, "back after promotion": {backAfter(3), "v1"}}
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
