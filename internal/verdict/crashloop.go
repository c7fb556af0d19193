package verdict

import (
	"fmt"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

// failuresResetAfter is how long all tasks must have run before earlier exits no longer count.
const failuresResetAfter = time.Minute

// judgeCrashLoop ends the wait if tasks fail repeatedly with one cause and no circuit breaker ends
// the deployment.
func (r *ServiceFollower) judgeCrashLoop(s *Service) *conclusion {
	if !r.failures.Reach(r.want.FailAfter) || s.hasBreaker() || r.followed.rollingBack {
		return nil
	}
	return &conclusion{outcome: sluice.Failed, why: "no circuit breaker ends this: AWS continues to start tasks",
		thenDo: diagnosis.DeployOrRollBack}
}

// concludeNoTask returns the end of a wait for a service whose desired count is 0: no task shows
// whether the revision works.
func concludeNoTask(service string) *conclusion {
	return &conclusion{outcome: sluice.Gone,
		why:  fmt.Sprintf("the desired count of %s is 0: no task shows whether it works", service),
		next: "raise the desired count, then wait again"}
}

// hasRecovered reports whether a task of the followed deployment became healthy since failures were
// counted.
func (r *ServiceFollower) hasRecovered(o Observation) bool {
	s := o.Service
	if r.followed.external {
		return r.followed.hasRecoveredSet(s)
	}
	d := r.followed.deploymentIn(s)
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
	return reset || full && !r.failures.Leading().NeedsHealthCheck() || hasHealthyTargets(o, d)
}

// hasHealthyTargets reports whether there are more healthy targets than running tasks of other
// deployments.
func hasHealthyTargets(o Observation, d *Deployment) bool {
	healthy := 0
	for _, t := range o.Targets {
		if t.State == "healthy" {
			healthy++
		}
	}
	return healthy > o.Service.Running-d.Running && healthy > 0 && d.Running > 0
}

func (b *binding) hasRecoveredSet(s *Service) bool {
	for _, ts := range s.TaskSets {
		if ts.Revision == b.revision && isSteady(&ts) {
			return true
		}
	}
	return false
}
