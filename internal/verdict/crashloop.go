package verdict

import (
	"fmt"
	"time"

	"github.com/sluice-ecs/sluice"
)

// failuresResetAfter is how long all tasks must have run before earlier exits no longer count.
const failuresResetAfter = time.Minute

// judgeCrashLoop ends the wait if tasks fail repeatedly with one cause and no circuit breaker ends
// the deployment.
func (r *ServiceFollower) judgeCrashLoop(s *Service) *conclusion {
	if !r.failures.Reach(r.want.FailAfter) || s.hasBreaker() || r.rollingBack {
		return nil
	}
	return &conclusion{outcome: sluice.Failed, why: "no circuit breaker ends this: AWS continues to start tasks",
		thenDo: deployOrRollBack}
}

// judgeScaledToZero ends the wait for a service without desired tasks: no task shows whether the
// revision works.
func (r *ServiceFollower) judgeScaledToZero(s *Service) *conclusion { return concludeNoTask(s.Name) }

// concludeNoTask returns the end of a wait for a service whose desired count is 0.
func concludeNoTask(service string) *conclusion {
	return &conclusion{outcome: sluice.Gone,
		why:  fmt.Sprintf("the desired count of %s is 0: no task shows whether it works", service),
		next: "raise the desired count, then wait again"}
}

// hasRecovered reports whether a task of the followed deployment became healthy since failures were
// counted.
func (r *ServiceFollower) hasRecovered(o Observation) bool {
	s := o.Service
	if r.external {
		return r.hasRecoveredSet(s)
	}
	d := r.followedDeployment(s)
	if d == nil {
		return false
	}
	before := 0
	if r.last != nil {
		if was := r.last.findDeployment(d.ID); was != nil {
			before = was.Failed
		}
	}
	reset := before > 0 && d.Failed == 0 && d.Running > 0
	full := trackSince(&r.since.allRunning, d.Running >= s.Desired && s.Desired > 0 && d.Pending == 0 &&
		len(o.NewlyStopped) == 0, o.At) >= failuresResetAfter
	return reset || full && !r.failures.Leading().NeedsHealthCheck() || r.hasHealthyTargets(o, d)
}

// deployOrRollBack is what follows the advice about a version that does not become healthy.
const deployOrRollBack = "then deploy again, or roll back: sluice rollback"

// hasHealthyTargets reports whether there are more healthy targets than running tasks of other
// deployments.
func (r *ServiceFollower) hasHealthyTargets(o Observation, d *Deployment) bool {
	healthy := 0
	for _, t := range o.Targets {
		if t.State == "healthy" {
			healthy++
		}
	}
	return healthy > o.Service.Running-d.Running && healthy > 0 && d.Running > 0
}

func (r *ServiceFollower) hasRecoveredSet(s *Service) bool {
	for _, ts := range s.TaskSets {
		if ts.Revision == r.revision && isSteady(&ts) {
			return true
		}
	}
	return false
}
