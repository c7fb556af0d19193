package rehearse

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// EndChecks checks the outcome and the state of the service at the end.
type EndChecks struct {
	env        *Environment
	report     *Report
	deployment *Deployment
	acts       *Acts
	records    *recordChecks
	rules      *ruleChecks
	scaling    *ScalingChecks
	seconds    *SecondSluices
	sets       *setChecks
	writes     *WriteChecks

	desired         int    // desired count at the start
	unmanagedBefore string // state of everything that sluice must not change
}

// isBlocked reports whether ECS can neither stop nor start a task of the service, because auto scaling
// or another actor set a count at which its limits leave no room. Then no deployment of any tool can end.
func (c *EndChecks) isBlocked() (blocked bool) {
	c.env.InWorld(func(tx *world.Tx) {
		s := c.env.FindService(tx)
		scaled := c.env.Case.World.Scaling.IsActive() || c.env.Case.HasIntervention(SetDesiredCount)
		blocked = s != nil && scaled && c.env.Case.World.Percents.Block(s.Desired)
	})
	return blocked
}

// checkEnd checks that the service is fully new or fully old, without leftovers (P2, P3).
func (c *EndChecks) checkEnd(o sluice.Outcome) {
	if c.env.Case.IsJob() {
		c.checkState(false)
		return
	}
	switch o {
	case sluice.Succeeded:
		if c.env.Case.MustFail() {
			c.report.AddViolation("P2", "the deployment succeeded with a version that cannot serve")
		}
		if c.env.Case.StepsFail() {
			c.report.AddViolation("P2", "the deployment succeeded, but one of its steps failed")
		}
		c.checkState(true)
	case sluice.RolledBack:
		c.checkState(false)
	}
}

// checkState checks that exactly one version serves, with all its tasks. Rules, tags and groups
// must be as before or as planned.
func (c *EndChecks) checkState(fresh bool) {
	if c.env.Case.HasIntervention(DeleteService) {
		return
	}
	want := "old"
	if fresh || c.seconds.deployedNew {
		want = "new"
	}
	c.env.InWorld(func(tx *world.Tx) {
		s := c.env.FindService(tx)
		if s == nil || s.Status != "ACTIVE" {
			c.report.AddViolation("P2", "the service is not ACTIVE")
			return
		}
		c.checkSingleSet(s, want)
		c.checkCanaryDeleted(tx)
		c.rules.checkRules(tx, fresh)
		c.checkTargets(tx, s, fresh)
		c.records.checkRegistered(tx, s)
		most := 2
		if c.seconds.Exist() && c.env.Case.HasFault("stale") { // it may register its own before a read shows the claim
			most++
		}
		if n := c.countRevisions(tx); n > most {
			c.report.AddViolation("P3", "%d revisions were registered", n-1)
		}
	})
	c.checkManagedTags(fresh)
	for k, v := range c.env.serviceTags() {
		if k == plan.ClaimTag && !strings.Contains(v, "second") && !c.env.Case.HasIntervention(TakeClaim) &&
			!c.env.Case.HasFault("expired-credentials") && !c.writes.claimUnreleased {
			c.report.AddViolation("P3", "the claim was not released: %s", v)
		}
	}
}

// checkSingleSet checks that there is one task set, of the version that must serve.
func (c *EndChecks) checkSingleSet(s *world.Service, want string) {
	if n := len(s.TaskSets) - c.seconds.countSets(s) - countOtherToolSets(s) - c.countKept(s, want); n != 1 {
		c.report.AddViolation("P2", "%d task sets remain, not one", n)
	}
	p := s.Primary()
	if p == nil {
		c.report.AddViolation("P2", "no task set is PRIMARY")
		return
	}
	if v := versionOf(p); v != want {
		c.report.AddViolation("P2", "version %s serves, not %s", v, want)
	}
	moves := c.env.Case.World.Scaling.IsActive()
	if s.Desired != c.desired && !c.env.Case.HasIntervention(SetDesiredCount) && !moves {
		c.report.AddViolation("P3", "the desired count is %d; it was %d", s.Desired, c.desired)
	}
	keepsScale := c.env.Case.OutsidePolicy == "adopt" &&
		c.env.Case.HasIntervention(ScaleCanary) // docs/reference/external-changes.md
	tasks := s.Desired
	if keepsScale {
		tasks = int(math.Ceil(float64(s.Desired) * p.Scale / 100))
	}
	if n := p.Count((*world.Task).IsRunning); n != tasks && !(want == "new" && c.env.Case.MayLoseRequests()) && !moves {
		c.report.AddViolation("P2", "%d of %d tasks run", n, tasks)
	}
	if p.Scale != 100 && s.Controller == "EXTERNAL" && !keepsScale {
		c.report.AddViolation("P3", "the scale of the serving task set is %g%%", p.Scale)
	}
}

// countKept returns how many task sets beside the PRIMARY stay after a success: a canary that no stage deletes.
func (c *EndChecks) countKept(s *world.Service, want string) (n int) {
	for _, ts := range s.TaskSets {
		if want == "new" && c.isKept(s, ts) {
			n++
		}
	}
	return n
}

// isKept reports whether a task set is a canary of this deployment that no stage deletes.
func (c *EndChecks) isKept(s *world.Service, ts *world.TaskSet) bool {
	return c.env.Case.LeavesCanary() && ts != s.Primary() && c.sets.isOwnSet(ts.ID) && versionOf(ts) == "new"
}

// stateText returns the state of the service in a line: task sets, weights, tags.
func (c *EndChecks) stateText() string {
	var parts []string
	c.env.InWorld(func(tx *world.Tx) {
		s := c.env.FindService(tx)
		if s == nil || s.Status != "ACTIVE" {
			parts = append(parts, "no service")
			return
		}
		for _, ts := range s.TaskSets {
			parts = append(parts, fmt.Sprintf("%s %s %g%% %d running", ts.Status, versionOf(ts), ts.Scale,
				ts.Count((*world.Task).IsRunning)))
		}
		slices.Sort(parts)
		for _, r := range c.env.forwardingRules(tx) {
			parts = append(parts, c.env.ruleText(s, r))
		}
		if s := scalingOf(tx); s != "" && s == c.scaling.expected {
			parts = append(parts, "auto scaling as expected")
		} else if s != "" {
			parts = append(parts, s)
		}
		if c.env.Case.World.UsesCloudMap() {
			parts = append(parts, c.env.registeredText(tx))
		}
	})
	for k := range c.env.serviceTags() {
		if k == plan.ClaimTag {
			parts = append(parts, "claimed")
		}
	}
	return strings.Join(parts, "; ")
}

// WasUnanswered reports whether the deployment ended because AWS did not answer. Create and read
// calls have a limited number of attempts, and the faults of the case may fail all of them. The
// deployment then rolls back.
func (c *EndChecks) WasUnanswered() bool {
	cause := c.report.Result.Cause
	return c.env.Case.HasFault("no-send", "5xx") && (strings.Contains(cause, sluice.ErrUnanswered.Error()) ||
		strings.HasSuffix(cause, "at attempt 6"))
}
