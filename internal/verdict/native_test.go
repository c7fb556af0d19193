package verdict_test

import (
	"testing"

	"github.com/sluice-ecs/sluice"
	. "github.com/sluice-ecs/sluice/internal/verdict"
)

// native returns the service with a strategy of ECS.
func native(s *Service) *Service {
	s.Strategy = "BLUE_GREEN"
	return s
}

// ECS rolls a failed deployment of its own strategies back without a circuit breaker: its rollback is waited for.
func TestNativeStrategyRollsBackByItself(t *testing.T) {
	failed := native(service(arn3, dep(3, "PRIMARY", "FAILED", 0), dep(2, "ACTIVE", "COMPLETED", 2)))
	looks := []at{{0, failed, runs3, nil, nil}, {10, failed, runs3, nil, nil}, {29, failed, runs3, nil, nil}}
	end(t, watchIt(t, Wanted{}, looks...), "", "")
	end(t, watchIt(t, Wanted{}, append(looks, at{40, native(back2), rolledBack3("web:2"), nil, nil})...),
		sluice.RolledBack, "web:2")
}

// The circuit breaker of a service has no effect in ECS's own strategies: tasks that fail repeatedly end the wait.
func TestNativeStrategyHasNoBreaker(t *testing.T) {
	s := native(service(arn3, dep(3, "PRIMARY", "IN_PROGRESS", 0), dep(2, "ACTIVE", "COMPLETED", 2)))
	s.Breaker = FailureDetection{Enabled: true, Rollback: true}
	end(t, watchIt(t, Wanted{}, at{0, s, runs3, nil, nil}, at{20, s, nil, crashes(3, 3), nil}), sluice.Failed, "")
}

// A rollback goes on to its own end while a newer deployment is current already, or the rollback itself is.
func TestRollbackIsNotSuperseded(t *testing.T) {
	r := record(arn3, "ROLLBACK_IN_PROGRESS", 3, 2)
	newer := service(arn4, dep(4, "PRIMARY", "IN_PROGRESS", 0), dep(3, "ACTIVE", "IN_PROGRESS", 1))
	end(t, watchIt(t, Wanted{Deployment: arn3}, at{0, rolling3, runs3, nil, nil},
		at{9, newer, []Record{r, record(arn4, "IN_PROGRESS", 4, 3)}, nil, nil}), "", "")
	back := dep(4, "PRIMARY", "IN_PROGRESS", 1)
	back.Revision, back.Reason = "web:2", "ECS deployment circuit breaker: rolling back to deploymentId ecs-svc/2."
	end(t, watchIt(t, Wanted{Deployment: arn3}, at{0, rolling3, runs3, nil, nil},
		at{9, service(arn4, back, dep(3, "ACTIVE", "IN_PROGRESS", 1)), runs3, nil, nil}), "", "")
}

// A deployment that is found in the history only is over: tasks of its revision that still run do not make it a success.
func TestDeploymentOfTheHistoryWasReplaced(t *testing.T) {
	s := service(arn4, dep(4, "PRIMARY", "IN_PROGRESS", 1), dep(3, "ACTIVE", "COMPLETED", 1))
	s.Deployments[1].Status = "INACTIVE"
	found := func(o *Observation) { o.Past = Past{Read: true, ARN: arn3} }
	both := []Record{record(arn3, "SUCCESSFUL", 3, 2), record(arn4, "IN_PROGRESS", 4, 3)}
	end(t, watchIt(t, Wanted{Revision: "web:3"}, at{0, s, both[1:], nil, nil}, at{11, s, both, nil, found},
		at{15, s, both, nil, found}), sluice.Superseded, "web:4")
}
