package verdict

import (
	"cmp"
	"fmt"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

// failuresResetAfter is how long all tasks must have run before earlier exits no longer count.
const failuresResetAfter = time.Minute

// judgeCrashLoop ends the wait if tasks fail repeatedly with one cause, and AWS does not end the deployment because of
// them: there is no circuit breaker, or it does not count them.
func (r *ServiceFollower) judgeCrashLoop(o Observation) *conclusion {
	end := &conclusion{outcome: sluice.Failed, why: "no circuit breaker ends this: AWS continues to start tasks",
		thenDo: diagnosis.DeployOrRollBack}
	loops := r.failures.Reach(r.want.FailAfter) && !r.followed.rollingBack
	if !o.Service.hasBreaker() {
		return end.onlyIf(loops)
	}
	end.why = "the circuit breaker does not count tasks that were healthy before: AWS continues to start tasks"
	if d := r.followed.deploymentIn(o.Service); d != nil && d.State == "COMPLETED" {
		end.why = "the circuit breaker counts the tasks of a deployment in progress only: AWS continues to start tasks"
	}
	loops = loops && r.failures.Leading().Count-r.breakerCount.counted >= cmp.Or(r.want.FailAfter, diagnosis.FailAfter)
	return end.onlyIf(trackSince(&r.since.uncounted, loops, o.At) >= maxReadLag)
}

func (c *conclusion) onlyIf(so bool) *conclusion {
	if !so {
		return nil
	}
	return c
}

// breakerCount adds up the failures that a circuit breaker has counted. AWS sets its own counts back to 0 when a task
// becomes healthy, and does not count a task that stops after that.
type breakerCount struct{ last, counted int }

// see adds a poll. Each argument may be nil.
func (n breakerCount) see(d *Deployment, rec *Record) breakerCount {
	now := 0
	if d != nil && d.State == "IN_PROGRESS" {
		now = d.Failed
	}
	if rec != nil && !rec.isOver() {
		now = max(now, rec.Breaker.Failures)
	}
	return breakerCount{last: now, counted: n.counted + max(now-n.last, 0)}
}

// concludeNoTask returns the end of a wait for a service whose desired count is 0: no task shows
// whether the revision works.
func concludeNoTask(service string) *conclusion {
	return &conclusion{outcome: sluice.Gone, noTasks: true,
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
	healthy := countHealthy(o.Targets)
	return healthy > o.Service.Running-d.Running && healthy > 0 && d.Running > 0
}

func countHealthy(all []sluice.Target) (n int) {
	for _, t := range all {
		if t.State == "healthy" {
			n++
		}
	}
	return n
}

func (b *binding) hasRecoveredSet(s *Service) bool {
	for _, ts := range s.TaskSets {
		if ts.Revision == b.revision && isSteady(&ts) {
			return true
		}
	}
	return false
}
