package rehearse

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// rollBackUnfinished runs the rollback that sluice advises after a deployment that ended neither
// fully new nor fully old. It first reverts the edits of rules by others (P2).
func (f *field) finish() {
	if f.excuses(DeleteService) || f.second1() || f.excuses(TakeClaim) {
		return
	}
	f.putBack()
	ctx := context.Background()
	if err := f.born(); err != nil {
		f.broken("sluice cannot be started: %v", err)
		return
	}
	f.life.kill = Kill{}
	if err := f.engine.Reopen(ctx, f.id); err != nil {
		f.violate("P2", "it ended %s (%s) and cannot be opened again: %v", f.result.Outcome, f.result.Cause, err)
		return
	}
	f.command(Rollback)
	end, err := f.engine.Run(ctx, f.id, engine.Options{})
	if err != nil || end.Outcome != sluice.RolledBack {
		f.violate("P2", "it ended %s (%s), and sluice rollback does not finish it: %s %s %v", f.result.Outcome, f.result.Cause, end.Outcome, end.Cause, err)
		return
	}
	f.sleep(restFor)
	f.stands(false)
}

// checkEnd checks that the service is fully new or fully old, without leftovers (P2, P3).
func (f *field) ended(o sluice.Outcome) {
	if f.byItself() {
		f.jobEnded(o)
		return
	}
	switch o {
	case sluice.Succeeded:
		if f.mustFail() {
			f.violate("P2", "it succeeded with a version that cannot serve")
		}
		if f.stepsFail() {
			f.violate("P2", "it succeeded though a step of it failed")
		}
		f.stands(true)
	case sluice.RolledBack:
		f.stands(false)
	}
	if o != sluice.Succeeded && f.mustSucceed() && !f.unanswered() {
		f.violate("P2", "it ended %s though nothing was wrong with the new version: %s", o, f.result.Cause)
	}
	f.scaledAsBefore()
	f.result.State = f.state()
}

// checkState checks that exactly one version serves, with all its tasks. Rules, tags and groups
// must be as before or as planned.
func (f *field) stands(fresh bool) {
	if f.excuses(DeleteService) {
		return
	}
	want := "old"
	if fresh || f.secondNew {
		want = "new"
	}
	f.inWorld(func(tx *world.Tx) {
		s := f.service(tx)
		if s == nil || s.Status != "ACTIVE" {
			f.violate("P2", "the service is gone")
			return
		}
		f.alone(s, want)
		f.besideGone(tx)
		f.ruledAsBefore(tx, fresh)
		f.drained(tx, s)
		f.registered(tx, s)
		if n := f.revisions(tx); n > 2 {
			f.violate("P3", "%d revisions were registered", n-1)
		}
	})
	f.attributed(fresh)
	for k, v := range f.tags() {
		if k == plan.ClaimTag && !strings.Contains(v, "second") && !f.excuses(TakeClaim) && !f.faulty("expired-credentials") && !f.unreleased {
			f.violate("P3", "the claim was not given back: %s", v)
		}
	}
}

// checkSingleSet checks that there is one task set, of the version that must serve.
func (f *field) alone(s *world.Service, want string) {
	if n := len(s.TaskSets) - f.besides(s) - f.strangers(s); n != 1 {
		f.violate("P2", "%d task sets are left, not one", n)
	}
	p := s.Primary()
	if p == nil {
		f.violate("P2", "no task set is PRIMARY")
		return
	}
	if v := f.version(p); v != want {
		f.violate("P2", "version %s serves, not %s", v, want)
	}
	moves := f.World.Scaling.moves()
	if s.Desired != f.desired && !f.excuses(Scale) && !moves {
		f.violate("P3", "the desired count is %d; it was %d", s.Desired, f.desired)
	}
	if n := p.Count((*world.Task).Running); n != s.Desired && !(want == "new" && f.lossy()) && !moves {
		f.violate("P2", "%d of %d tasks run", n, s.Desired)
	}
	if p.Scale != 100 && s.Controller == "EXTERNAL" && !(f.Outside == "adopt" && f.excuses(ScaleCanary)) {
		f.violate("P3", "the task set that serves is at %g%%", p.Scale)
	}
}

// countSecondSets counts the task sets of a second sluice that claimed the service at the same
// moment, then lost the claim and reported it. AWS has no compare-and-set.
func (f *field) besides(s *world.Service) (n int) {
	for _, ts := range s.TaskSets {
		if !f.secondRan && strings.HasPrefix(ts.ExternalID, plan.IDPrefix+"second") {
			n++
		}
	}
	return n
}

// stateText returns the state of the service in a line: task sets, weights, tags.
func (f *field) state() string {
	var parts []string
	f.inWorld(func(tx *world.Tx) {
		s := f.service(tx)
		if s == nil || s.Status != "ACTIVE" {
			parts = append(parts, "no service")
			return
		}
		for _, ts := range s.TaskSets {
			parts = append(parts, fmt.Sprintf("%s %s %g%% %d running", ts.Status, f.version(ts), ts.Scale, ts.Count((*world.Task).Running)))
		}
		slices.Sort(parts)
		for _, r := range f.ruled(tx) {
			parts = append(parts, f.routed(s, r))
		}
		if s := scalingOf(tx); s != "" && s == f.scaling {
			parts = append(parts, "auto scaling as it should be")
		} else if s != "" {
			parts = append(parts, s)
		}
		if f.World.byName() {
			parts = append(parts, f.foundWords(tx))
		}
	})
	for k := range f.tags() {
		if k == plan.ClaimTag {
			parts = append(parts, "claimed")
		}
	}
	return strings.Join(parts, "; ")
}

func (f *field) version(ts *world.TaskSet) string {
	for _, c := range ts.Definition.Containers {
		if c.Image == oldImage {
			return "old"
		}
	}
	return "new"
}

// wasUnanswered reports whether the deployment ended because AWS did not answer. Create and read
// calls have a limited number of attempts, and the faults of the case may fail all of them. The
// deployment then rolls back.
func (f *field) unanswered() bool {
	c := f.result.Cause
	return f.faulty("no-send", "5xx") && (strings.Contains(c, sluice.ErrUnanswered.Error()) || strings.HasSuffix(c, "at attempt 6"))
}
