package scheduler

import (
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// Rules are how the deployments of a service with controller ECS are judged. A
// change counts at once, for the deployment under way too.
type Rules struct {
	Breaker Breaker
	Alarms  Alarms
	// Bake is how long a deployment is watched once its tasks serve and the former
	// ones are gone; 0 leaves it to the alarms.
	Bake  time.Duration
	Early Early
}

// Breaker is the deployment circuit breaker.
type Breaker struct {
	Enable, Rollback bool
	Cumulative       bool   // a healthy task does not set the count back
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
	Deferred       bool // former tasks are taken away after the success
}

const (
	fewestFailures = 3
	mostFailures   = 200
)

// Threshold is how many failures open the circuit breaker at a desired count:
// the half of it by default, rounded up, from 3 to 200 (Developer Guide, "How
// the Amazon ECS deployment circuit breaker detects failures").
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

// enough is how many healthy tasks make an early success: at least one, unless
// none is wanted.
func (e Early) enough(desired int) int {
	return min(max(floor(desired, e.HealthyPercent), 1), desired)
}

// SetRules sets how a service's deployments are judged.
func (s *Scheduler) SetRules(tx *world.Tx, svc *world.Service, r Rules) {
	serviceNote(svc).rules = r
	tx.Changed(world.ServiceChanged, svc)
}
