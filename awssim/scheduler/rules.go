package scheduler

import (
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// Rules say when a deployment of a service with controller ECS succeeds or fails. A change takes
// effect immediately, also for the running deployment, unless that has a strategy of its own.
type Rules struct {
	Breaker Breaker
	Alarms  Alarms
	// Bake is how long a deployment is monitored after its tasks run and the old ones are stopped.
	// 0: the alarms determine it.
	Bake  time.Duration
	Early Early
	// Strategy says how a deployment moves traffic, if it is not rolling.
	Strategy Strategy
}

// Breaker is the deployment circuit breaker.
type Breaker struct {
	Enable, Rollback bool
	Cumulative       bool   // a healthy task does not reset the count
	Type             string // BOUNDED_PERCENT ("" too), UNBOUNDED_PERCENT, COUNT
	Value            int    // percent or tasks; 0 is 50 percent
}

// Alarms are the alarms that end a deployment.
type Alarms struct {
	Enable, Rollback bool
	Names            []string
}

// Early are the early success criteria.
type Early struct {
	Enable         bool
	HealthyPercent int  // of the desired count
	Deferred       bool // old tasks are stopped after the success
}

const (
	fewestFailures = 3
	mostFailures   = 200
)

// Threshold returns how many failures open the circuit breaker: by default half of the desired
// count, rounded up, from 3 to 200 (Developer Guide, "How the Amazon ECS deployment circuit breaker
// detects failures").
func (b Breaker) Threshold(desired int) int {
	value := b.Value
	if value == 0 {
		value = 50
	}
	share := (desired*value + 99) / 100
	switch b.Type {
	case "COUNT":
		return value
	case "UNBOUNDED_PERCENT":
		return max(share, 1)
	}
	return min(max(share, fewestFailures), mostFailures)
}

// requiredTasks returns how many healthy tasks make an early success: at least one, unless the
// desired count is 0.
func (e Early) requiredTasks(desired int) int {
	return min(max(lowerLimit(desired, e.HealthyPercent), 1), desired)
}

// SetRules sets the rules of a service's deployments.
func (s *Scheduler) SetRules(tx *world.Tx, svc *world.Service, r Rules) {
	stateOfService(svc).rules = r
	tx.Changed(world.ServiceChanged, svc)
}
