package verdict

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

// Service is a service as AWS returns it at one poll. Its times are AWS's and are compared only
// with each other.
type Service struct {
	ARN                       string
	Cluster, Name             string
	Status                    string // ACTIVE, DRAINING, INACTIVE
	Controller                string // ECS, CODE_DEPLOY, EXTERNAL
	Strategy                  string // ROLLING, BLUE_GREEN, LINEAR, CANARY; empty is ROLLING
	Desired, Running, Pending int
	Deployments               []Deployment     // controller ECS, newest first
	TaskSets                  []sluice.TaskSet // controller EXTERNAL
	OwnSets                   []string         // IDs of those of TaskSets that sluice made
	Current                   string           // ARN of the current service deployment; empty: there is none
	Breaker, Alarms           FailureDetection
	MinPercent, MaxPercent    int               // minimumHealthyPercent, maximumPercent; 0, 0: not known
	Bake                      time.Duration     // bakeTimeInMinutes; 0: none, or ECS computes it from the alarms
	Groups                    []string          // ARNs of its target groups
	Events                    []diagnosis.Event // newest first
	ClaimedBy                 string            // the deployment of sluice that has claimed the service; empty: none
	ClaimedUntil              time.Time
}

// HasBegunAfter reports whether a deployment or a task set of the service was created after a time. It is one of
// another clock, so some seconds more or less do not count.
func (s *Service) HasBegunAfter(t time.Time) bool {
	return s != nil && (slices.ContainsFunc(s.Deployments, func(d Deployment) bool { return d.CreatedAt.After(t) }) ||
		slices.ContainsFunc(s.TaskSets, func(ts sluice.TaskSet) bool { return ts.CreatedAt.After(t) }))
}

// isClaimed reports whether a deployment of sluice has the service: it has not ended, or its process died.
func (s *Service) isClaimed(now time.Time) bool {
	return s != nil && s.ClaimedBy != "" && now.Before(s.ClaimedUntil)
}

// claimHold returns what withholds the success of a wait for whatever deployment there is: one of sluice goes on.
func (w Wanted) claimHold(s *Service, now time.Time) (h hold) {
	if w.AwaitsRelease && s.isClaimed(now) {
		h.why = fmt.Sprintf("deployment %s of sluice has the service until %s", s.ClaimedBy,
			s.ClaimedUntil.UTC().Format("2006-01-02 15:04:05Z"))
		h.next = "run sluice status to see who has the service; wait again once that deployment has ended"
	}
	return h
}

// LeftoverClaim returns why a wait for whatever deployment there is cannot end well, and what to do: what describes
// what is left of a deployment of sluice whose claim has expired, so that no process goes on with it. It is empty
// without such a claim.
func (w Wanted) LeftoverClaim(s *Service, now time.Time, what string) (why, next string) {
	if !w.AwaitsRelease || s == nil || s.ClaimedBy == "" || s.isClaimed(now) {
		return "", ""
	}
	return fmt.Sprintf("%s; it is left of deployment %s of sluice, whose claim expired at %s", what, s.ClaimedBy,
			s.ClaimedUntil.UTC().Format("2006-01-02 15:04:05Z")),
		fmt.Sprintf("run sluice resume %s to continue that deployment, or sluice rollback %s to undo it", s.ClaimedBy, s.ClaimedBy)
}

// FailureDetection is the configuration of the deployment circuit breaker or of the deployment
// alarms.
type FailureDetection struct{ Enabled, Rollback bool }

// Deployment is one entry of a service's deployments.
type Deployment struct {
	ID     string `json:"id"`     // "ecs-svc/<digits>"
	Status string `json:"status"` // PRIMARY, ACTIVE, INACTIVE
	// State is IN_PROGRESS, COMPLETED or FAILED; empty with a Classic Load Balancer.
	State     string    `json:"rolloutState,omitempty"`
	Reason    string    `json:"rolloutStateReason,omitempty"`
	Revision  string    `json:"revision"` // family:revision
	Desired   int       `json:"desired"`
	Running   int       `json:"running"`
	Pending   int       `json:"pending"`
	Failed    int       `json:"failed"`
	CreatedAt time.Time `json:"-"`
}

// hasStarted reports whether the deployment is in progress and all its tasks run.
func (d *Deployment) hasStarted() bool {
	return d != nil && d.State == "IN_PROGRESS" && d.Desired > 0 && d.Running >= d.Desired && d.Pending == 0
}

// IsNative reports whether ECS itself shifts the traffic, stage by stage.
func (s *Service) IsNative() bool { return s.Strategy != "" && s.Strategy != "ROLLING" }

// hasBreaker reports whether a circuit breaker ends deployments. AWS documents the circuit breaker
// for rolling updates only.
func (s *Service) hasBreaker() bool {
	return s.Breaker.Enabled && !s.IsNative() && s.Controller != "EXTERNAL"
}

// breakerRollsBack reports whether the circuit breaker rolls failed deployments back.
func (s *Service) breakerRollsBack() bool { return s.hasBreaker() && s.Breaker.Rollback }

// rollsBack reports whether AWS itself rolls failed deployments back.
func (s *Service) rollsBack() bool {
	return s.Breaker.Enabled && s.Breaker.Rollback || s.Alarms.Enabled && s.Alarms.Rollback || s.IsNative()
}

func (s *Service) primaryDeployment() *Deployment {
	for i := range s.Deployments {
		if s.Deployments[i].Status == "PRIMARY" {
			return &s.Deployments[i]
		}
	}
	return nil
}

func (s *Service) findDeployment(id string) *Deployment {
	for i := range s.Deployments {
		if id != "" && s.Deployments[i].ID == id {
			return &s.Deployments[i]
		}
	}
	return nil
}

// newestOf returns the newest deployment of a revision for which fits is true.
func (s *Service) newestOf(revision string, fits func(Deployment) bool) *Deployment {
	var best *Deployment
	for i := range s.Deployments {
		d := &s.Deployments[i]
		if d.Revision == revision && fits(*d) && (best == nil || d.CreatedAt.After(best.CreatedAt)) {
			best = d
		}
	}
	return best
}

// shownName returns the name of the service, or "the service" if it was not read.
func (s *Service) shownName() string {
	if s == nil {
		return "the service"
	}
	return s.Name
}

func (s *Service) primarySet() *sluice.TaskSet {
	for i := range s.TaskSets {
		if s.TaskSets[i].Status == "PRIMARY" {
			return &s.TaskSets[i]
		}
	}
	return nil
}

// rollingBackTo precedes the id of the deployment in the event of a rollback.
const rollingBackTo = "rolling back to deployment "

// rolledBackTo reports whether the newest rollback in the events returns to the deployment.
func (s *Service) rolledBackTo(id string) bool { return !s.restoredAt(id).IsZero() }

// restoredAt returns when, by AWS's time, the newest rollback in the events began, if it returns to the deployment;
// otherwise the zero time.
func (s *Service) restoredAt(id string) time.Time {
	for _, e := range s.Events {
		if _, to, ok := strings.Cut(e.Message, rollingBackTo); ok {
			if strings.TrimSuffix(to, ".") == id {
				return e.At
			}
			break
		}
	}
	return time.Time{}
}

const deploymentCompleted, deploymentFailed = "deployment completed", "deployment failed"

// eventEnd is the end of a deployment by the service's events, of which AWS keeps the last 100.
type eventEnd struct {
	is     string // deploymentCompleted or deploymentFailed; empty: no event says it
	reason string // AWS's reason of a failure
	backTo string // id of the deployment that ECS rolled back to; empty: there was no rollback
}

// endOf returns how the deployment with an id "ecs-svc/<digits>" ended.
func (s *Service) endOf(id string) eventEnd {
	for i, e := range s.Events {
		_, text, isNamed := strings.Cut(e.Message, "(deployment "+id+") ")
		switch {
		case !isNamed:
		case strings.HasPrefix(text, deploymentCompleted):
			return eventEnd{is: deploymentCompleted}
		case strings.HasPrefix(text, deploymentFailed):
			return eventEnd{deploymentFailed, strings.TrimSuffix(strings.TrimPrefix(text, deploymentFailed+": "), "."),
				firstRollback(s.Events[:i])}
		}
	}
	return eventEnd{}
}

// firstRollback returns the id of the deployment that the oldest rollback of the events returns to, or "".
func firstRollback(newestFirst []diagnosis.Event) string {
	for _, e := range slices.Backward(newestFirst) {
		if _, to, ok := strings.Cut(e.Message, rollingBackTo); ok {
			return strings.TrimSuffix(to, ".")
		}
	}
	return ""
}

// isRollback reports whether AWS names d as the target of a rollback.
func isRollback(d *Deployment) bool {
	return d != nil && strings.Contains(d.Reason, "rolling back")
}

// Record is a service deployment in ECS's history.
type Record struct {
	ARN            string
	Status         string   // PENDING … ROLLBACK_FAILED
	Reason         string   // statusReason
	Stage          string   // lifecycleStage
	Revision       string   // family:revision that it deploys; empty if AWS no longer returns the service revision
	Groups         []string // ARNs of the target groups in which its tasks are; empty: not known
	From           string   // family:revision that it replaces
	BackTo         string   // family:revision that a rollback returns to
	RollbackReason string
	Breaker        Counter
	Alarms         []string // names of the alarms that fired
	Hooks          []Hook
	// requested share of production traffic of the new revision, in percent; 100 for rolling updates
	Weight    float64
	CreatedAt time.Time
}

// Counter is the state of the circuit breaker.
type Counter struct {
	Status              string // TRIGGERED, MONITORING, MONITORING_COMPLETE, DISABLED
	Failures, Threshold int
}

// Hook is a lifecycle hook of a deployment.
type Hook struct {
	ID        string
	Target    string // name of its Lambda function; empty for a pause
	Status    string // AWAITING_ACTION, IN_PROGRESS, SUCCEEDED, FAILED, TIMED_OUT
	ExpiresAt time.Time
	Then      string // what AWS does at ExpiresAt: ROLLBACK, CONTINUE
}

// isOver reports whether the deployment has ended for good.
func (r *Record) isOver() bool { return sluice.IsServiceDeploymentOver(r.Status) }

// isRollingBack reports whether the deployment is being rolled back.
func (r *Record) isRollingBack() bool { return sluice.IsServiceDeploymentRollingBack(r.Status) }

func (r *Record) awaitedHook() *Hook {
	for i := range r.Hooks {
		if r.Hooks[i].Status == "AWAITING_ACTION" {
			return &r.Hooks[i]
		}
	}
	return nil
}
