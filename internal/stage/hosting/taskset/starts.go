package taskset

import (
	"context"
	"slices"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage/step"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/verdict/health"
)

const (
	// starvedAfter is how long ECS starts no restored task before the new version gets fewer starts.
	starvedAfter = 30 * time.Second
	// countsWithin is how long the counts of the new version are remembered: reads lag by that much.
	countsWithin = 10 * time.Second
)

// startShare gives restored tasks their share of the task starts. ECS starts a limited number of tasks
// a minute for a service. The tasks of a new version that crash are replaced again and again, and take
// all starts. While ECS starts no restored task, each task set of the new version is scaled to the tasks
// that it has, so that those that crash are not replaced. No healthy task is stopped, and one task stays. If that
// is not enough, the canary gets no requests any more and stops.
type startShare struct {
	sets     taskSets
	restored step.Member
	started  int       // the most restored tasks that a read has shown
	since    time.Time // when that last changed
	counts   []setCount
	scaledTo map[string]int // percent, by task set: reads lag behind our writes
}

// setCount is how many tasks a read showed for a task set of the new version.
type setCount struct {
	id    string
	at    time.Time
	tasks int
}

// see is called at each poll at which restored tasks are missing.
func (h *startShare) see(ctx context.Context, o verdict.Observation) error {
	if err := h.sets.stopIdleCanary(ctx); err != nil {
		return err
	}
	live, err := step.ObserveShared(ctx, h.sets.step)
	if err != nil || live == nil {
		return err
	}
	competing, err := h.findCompeting(ctx, live)
	if err != nil {
		return err
	}
	if err := h.remember(ctx, o.At, competing); err != nil {
		return err
	}
	if n := o.Set.Running + o.Set.Pending; h.since.IsZero() || n > h.started {
		h.started, h.since = n, o.At
	}
	if o.At.Sub(h.since) < starvedAfter {
		return nil
	}
	for _, m := range competing {
		if err := h.stopReplacing(ctx, live.Desired, m); err != nil {
			return err
		}
	}
	if o.At.Sub(h.since) < 2*starvedAfter {
		return nil
	}
	return h.moveRequestsToPrimary(ctx, competing)
}

// findCompeting returns the task sets of this deployment's new version.
func (h *startShare) findCompeting(ctx context.Context, live *ecs.ServiceState) ([]step.Member, error) {
	canaryID, err := h.sets.step.CanaryID(ctx)
	if err != nil {
		return nil, err
	}
	var all []step.Member
	for _, set := range live.TaskSets {
		switch {
		case set.ID == h.restored.ID || set.Status == "DRAINING":
		case set.ExternalID == string(canaryID):
			all = append(all, h.sets.newMember(set, sluice.Canary, plan.CanarySet))
		case set.ExternalID == string(h.sets.step.NewPrimaryID()):
			all = append(all, h.sets.newMember(set, sluice.Primary, plan.NewPrimarySet))
		}
	}
	return all, nil
}

// moveRequestsToPrimary moves the requests of the canary to the new primary, if that has as many healthy
// tasks. The canary is stopped then.
func (h *startShare) moveRequestsToPrimary(ctx context.Context, competing []step.Member) error {
	healthy := map[sluice.Variant]int{}
	for _, m := range competing {
		n, err := h.countHealthy(ctx, m)
		if err != nil {
			return err
		}
		healthy[m.Variant] = n
	}
	if healthy[sluice.Primary] == 0 || healthy[sluice.Primary] < healthy[sluice.Canary] {
		return nil
	}
	if gets, err := h.sets.step.Access.CanaryGetsTraffic(ctx); err != nil || !gets {
		return err
	}
	h.sets.step.EmitNote("the canary gets no requests any more: its failing tasks take the starts that the %s needs",
		h.restored.Label)
	return h.sets.step.Access.SetWeights(ctx, sluice.CanaryShare(0))
}

// countHealthy returns the number of healthy tasks of a task set.
func (h *startShare) countHealthy(ctx context.Context, m step.Member) (int, error) {
	o := verdict.Observation{At: h.sets.step.Clock.Now(), Set: &m.TaskSet}
	err := h.sets.step.Access.ObserveTargets(ctx, step.NewMemberWatch(m), &o)
	return health.CountTasks(o).Healthy, err
}

// remember keeps how many tasks each task set has, and drops what is too old. If more run than are desired, failed ones
// still drain and were replaced already: only the healthy ones count then.
func (h *startShare) remember(ctx context.Context, at time.Time, competing []step.Member) error {
	h.counts = slices.DeleteFunc(h.counts, func(c setCount) bool { return at.Sub(c.at) > countsWithin })
	for _, m := range competing {
		n := m.Running + m.Pending
		if n > m.Desired {
			healthy, err := h.countHealthy(ctx, m)
			if err != nil {
				return err
			}
			if healthy > 0 { // otherwise nothing shows which tasks are healthy
				n = healthy
			}
		}
		h.counts = append(h.counts, setCount{m.ID, at, n})
	}
	return nil
}

// stopReplacing scales a task set to the most tasks that it had lately.
func (h *startShare) stopReplacing(ctx context.Context, desired int, m step.Member) error {
	keep := 1
	for _, c := range h.counts {
		if c.id == m.ID {
			keep = max(keep, c.tasks)
		}
	}
	if m.Desired <= keep {
		return nil
	}
	percent := step.PercentForCount(desired, keep)
	if last, scaled := h.scaledTo[m.ID]; percent >= int(m.Scale) || scaled && percent >= last {
		return nil
	}
	h.scaledTo[m.ID] = percent
	h.sets.step.EmitNote("ECS has started no task of the %s for %s: the %s is scaled to the %s that it has, so that "+
		"failed tasks are not replaced", h.restored.Label, starvedAfter, m.Label, sluice.Plural(keep, "task"))
	return h.sets.sets.Scale(ctx, h.sets.step.MakeWrite, m.TaskSet, m.Label, percent)
}
