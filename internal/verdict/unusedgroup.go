package verdict

import (
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

const (
	// idleBefore is how long all tasks of a deployment may run, without a change, before their targets are read although
	// former tasks still run.
	idleBefore = 45 * time.Second
	// unusedAfter is how long the load balancer may not use the target group before the wait ends.
	unusedAfter = time.Minute
	// unusedInterval is the time between reads of targets that the load balancer does not use.
	unusedInterval = 15 * time.Second
)

// needsGroup reports whether to read whether the load balancer uses the target group: it checks no target of a group
// that no rule forwards to, so ECS waits for ever.
func (r ServiceFollower) needsGroup(s *Service, now time.Time) bool {
	d := r.followed.deploymentIn(s)
	if d == nil || d.State != "IN_PROGRESS" || d.Desired == 0 || d.Running < d.Desired || d.Pending > 0 ||
		fingerprintOf(s, r.lastRecord) != r.pace.fingerprint {
		return false // the load balancer checks targets that were registered just now
	}
	if !r.since.unused.IsZero() {
		return now.Sub(r.reads.groupReadAt) >= unusedInterval
	}
	return now.Sub(r.pace.changedAt) >= idleBefore && r.pace.fingerprint != r.reads.probedFingerprint
}

// judgeUnusedGroup ends a wait whose tasks run in a target group that the load balancer does not use.
func (r *ServiceFollower) judgeUnusedGroup(o Observation) *conclusion {
	if o.Targets == nil {
		return nil
	}
	first, all := unusedTarget(o.Targets)
	if trackSince(&r.since.unused, all, o.At) < unusedAfter {
		return nil
	}
	cause := diagnosis.Cause{Kind: diagnosis.GroupUnused, Count: 1, Text: first.Description}
	if cause.Text == "" {
		cause.Text = "the load balancer does not use the target group"
	}
	return &conclusion{outcome: sluice.Failed, cause: &cause,
		why: "no target can become healthy: ECS waits for ever"}
}

// unusedTarget returns a target, and whether the load balancer uses none of those that are not draining.
func unusedTarget(targets []sluice.Target) (first sluice.Target, all bool) {
	for _, t := range targets {
		switch {
		case t.State == "draining":
		case t.Reason != "Target.NotInUse":
			return t, false
		case !all:
			first, all = t, true
		}
	}
	return first, all
}
