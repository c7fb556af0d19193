package verdict

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

const (
	// lostAfter is how long no running task may be registered before a wait ends: ECS registers a task as it starts.
	lostAfter = time.Minute
	// registeredInterval is the time between reads of the targets of a deployment whose tasks all run and that does not end.
	registeredInterval = 45 * time.Second
)

// GroupCount is how many targets a target group has at one poll.
type GroupCount struct {
	Group      string // ARN
	Registered int    // that are not draining
}

// CountRegistered counts the targets of a target group that are not draining.
func CountRegistered(group string, targets []sluice.Target) GroupCount {
	n := GroupCount{Group: group}
	for _, t := range targets {
		if t.State != "draining" {
			n.Registered++
		}
	}
	return n
}

// Registration judges whether the tasks that run are registered in their target group. ECS registers each as it starts and
// never again: a task that another process deregisters gets no request for as long as it runs. The zero value has seen
// nothing.
type Registration struct {
	since   time.Time // since when tasks are missing in the group; zero: none is
	lasts   time.Duration
	last    GroupCount
	running int
}

// See adds a poll at which all tasks run: the targets of the group that has the fewest of them.
func (g Registration) See(at time.Time, running int, groups ...GroupCount) Registration {
	if len(groups) == 0 {
		return g
	}
	least := groups[0]
	for _, n := range groups {
		if n.Registered < least.Registered {
			least = n
		}
	}
	if least != g.last {
		g.since = time.Time{}
	}
	g.last, g.running = least, running
	g.lasts = trackSince(&g.since, running > 0 && least.Registered < running, at)
	return g
}

// isDoubtful reports whether the last poll showed tasks that are not registered.
func (g Registration) isDoubtful() bool { return !g.since.IsZero() }

// IsLost reports whether no task has been registered for so long that none will be.
func (g Registration) IsLost() bool {
	return g.last.Registered == 0 && g.isDoubtful() && g.lasts >= lostAfter
}

// OfRegistered returns the registration of tasks that were registered before: ECS is not about to register them.
func (g Registration) OfRegistered() Registration {
	g.lasts = max(g.lasts, unusedInterval)
	return g
}

// Cause returns the cause of targets that are missing. ok is false if ECS may only be about to register them.
func (g Registration) Cause() (c diagnosis.Cause, ok bool) {
	if !g.isDoubtful() || g.lasts < unusedInterval {
		return diagnosis.Cause{}, false
	}
	run := sluice.Plural(g.running, "task") + " run"
	if g.running == 1 {
		run += "s"
	}
	text := fmt.Sprintf("%s, and only %d of them registered in target group %s: another process or person deregistered "+
		"the others", run, g.last.Registered, sluice.TargetGroupName(g.last.Group))
	if g.last.Registered == 0 {
		text = fmt.Sprintf("%s, and none is registered in target group %s: another process or person deregistered them", run,
			sluice.TargetGroupName(g.last.Group))
	}
	return diagnosis.Cause{Kind: diagnosis.Deregistered, Text: text, Count: 1, Group: g.last.Group}, true
}

// WithRegisterCommand returns a verdict on targets that another process or person deregistered with the command that
// registers them again. addresses are those of the running tasks, and port that of their targets. targets are those of the
// group now.
func (v Verdict) WithRegisterCommand(addresses []string, port int32, targets []sluice.Target) Verdict {
	var missing []string
	for _, address := range addresses {
		isIts := func(t sluice.Target) bool { return t.ID == address && t.State != "draining" }
		if !slices.ContainsFunc(targets, isIts) {
			missing = append(missing, fmt.Sprintf("Id=%s,Port=%d", address, port))
		}
	}
	if len(missing) == 0 {
		return v
	}
	was := v.Cause.Advice()
	v.Cause.Command = "aws elbv2 register-targets --target-group-arn " + v.Cause.Group + " --targets " +
		strings.Join(missing, " ")
	v.Next = strings.Replace(v.Next, was, v.Cause.Advice(), 1)
	return v
}

// servingGroups returns the ARNs of the target groups in which the tasks of the followed deployment are registered: in each
// of them, or, if the record of ECS's own strategy has not been read, in either of its pair.
func (r ServiceFollower) servingGroups(s *Service) []string {
	p := s.primarySet()
	switch {
	case r.followed.external && (p == nil || p.TargetGroup == ""):
		return nil
	case r.followed.external:
		return []string{p.TargetGroup}
	case s.IsNative() && r.lastRecord != nil && len(r.lastRecord.Groups) > 0:
		return r.lastRecord.Groups
	}
	return s.Groups
}

// isUnended reports whether all tasks of the followed deployment run, and AWS does not report its end.
func (r ServiceFollower) isUnended(s *Service) bool {
	running, pending, wanted := r.followed.servingNumbers(s)
	if wanted == 0 || running < wanted || pending > 0 || r.followed.rollingBack {
		return false
	}
	if p := s.primarySet(); r.followed.external {
		return p != nil && p.Revision == r.followed.revision && !p.Steady
	}
	d := r.followed.deploymentIn(s)
	return d != nil && d.Status == "PRIMARY" && (d.State == "IN_PROGRESS" || r.reads.checksTargets)
}

// needsRegistered reports whether to read whether the tasks are registered.
func (r ServiceFollower) needsRegistered(s *Service, now time.Time) bool {
	if !r.isUnended(s) || fingerprintOf(s, r.lastRecord) != r.pace.fingerprint {
		return false
	}
	if r.registration.isDoubtful() {
		return now.Sub(r.reads.groupReadAt) >= unusedInterval
	}
	return now.Sub(r.pace.changedAt) >= registeredInterval && now.Sub(r.reads.groupReadAt) >= registeredInterval
}

// noteRegistered adds a poll to the registration. A failed health check makes ECS deregister a task before it stops.
func (r *ServiceFollower) noteRegistered(o Observation) {
	_, _, wanted := r.followed.servingNumbers(o.Service)
	groups := r.servingGroups(o.Service)
	counts := slices.DeleteFunc(slices.Clone(o.Registered),
		func(n GroupCount) bool { return !slices.Contains(groups, n.Group) })
	if o.Service.IsNative() && len(counts) > 1 && (r.lastRecord == nil || len(r.lastRecord.Groups) == 0) {
		for _, other := range counts[1:] {
			counts[0].Registered += other.Registered
		}
		counts = counts[:1]
	}
	if !r.isUnended(o.Service) || r.failures.Count() > 0 {
		r.registration = Registration{}
		return
	}
	r.registration = r.registration.See(o.At, wanted, counts...)
}

// judgeRegistered ends a wait none of whose tasks is registered in a target group.
func (r *ServiceFollower) judgeRegistered() *conclusion {
	cause, _ := r.registration.Cause()
	end := &conclusion{outcome: sluice.Failed, cause: &cause, why: "ECS does not register a running task again"}
	return end.onlyIf(r.registration.IsLost())
}
