package world

import "time"

// Range is a delay that is drawn evenly between two bounds.
type Range struct{ Min, Max time.Duration }

// Knobs are the world's delays and the switches for behaviour that AWS does not
// document. The defaults are what was seen in published logs (FIDELITY.md names
// each source); [NoDelays] is for measuring what is not AWS's time.
type Knobs struct {
	// Task start on Fargate: PROVISIONING, PENDING, ACTIVATING (image pull).
	Provisioning, Pending, Activating Range
	// Task end: DEACTIVATING and DEPROVISIONING beside drain and stop timeout.
	Deactivating, Deprovisioning Range
	// SchedulerLoop is how long after a change the service scheduler acts.
	SchedulerLoop Range
	// TargetRegistration is initial/RegistrationInProgress before checks begin.
	TargetRegistration Range
	// FirstCheck is how long after its registration a target's first health check
	// comes; never longer than the group's interval.
	FirstCheck Range
	// WeightPropagation is how long a changed rule takes to reach the nodes.
	WeightPropagation Range
	// TargetPropagation is how long the nodes of a load balancer go on sending requests
	// to a target that was deregistered, and how much later than the API they begin
	// to check one that was registered. AWS names no time.
	TargetPropagation Range
	// LoadBalancerProvisioning is how long a load balancer is "provisioning".
	LoadBalancerProvisioning Range
	// DeployStep is how long CodeDeploy takes from one step of a deployment to the next.
	DeployStep Range
	// ScaledOutLimit is how long CodeDeploy goes on with a deployment of a service that
	// has more tasks to run than at its start; then the deployment fails. AWS says: it
	// may fail after five minutes. 0: it goes on.
	ScaledOutLimit time.Duration
	// StabilityLag is how much later than ECS knows it a task set's stabilityStatus
	// is shown. AWS names no time.
	StabilityLag Range
	// StickyLeavesZeroWeight: a client with a group cookie leaves its group when
	// the group's weight is set to 0. AWS does not say; by default it stays.
	StickyLeavesZeroWeight bool
	// StickyKeepsEmptyGroup: such a client stays even when no target is left in
	// its group, and gets 503. AWS does not say; by default another group is drawn.
	StickyKeepsEmptyGroup bool
	// StaleReads: describe calls may answer what was true that long ago.
	StaleReads Range
	// StoppedTaskRetention is how long stopped tasks stay describable: at least
	// an hour on AWS.
	StoppedTaskRetention time.Duration
	// RestartBackoff is the first wait before another start when tasks fail to
	// reach RUNNING repeatedly; it doubles up to 27 minutes, as AWS's does.
	RestartBackoff time.Duration
	// HealthyWithoutCheck: a task without any check counts as healthy that long
	// after RUNNING (rolling updates).
	HealthyWithoutCheck time.Duration
	// BreakerIgnoresExits keeps the deployment circuit breaker from counting tasks
	// whose container ends by itself before they were healthy, as it was at first.
	BreakerIgnoresExits bool
	// BreakerIgnoresPlacement keeps it from counting starts that find no place.
	BreakerIgnoresPlacement bool
	// StopTaskAwaitsDrain makes a task that a user stops wait for the drain of its
	// targets before the stop signal, as one that the service scheduler stops
	// does. Off by default: requests lost to StopTask have been reported.
	StopTaskAwaitsDrain bool
	// RegistryOperation is how long Cloud Map's asynchronous operations take; what
	// they do is done at their end.
	RegistryOperation Range
	// CustomHealth is how long after UpdateInstanceCustomHealthStatus an
	// instance's health follows.
	CustomHealth time.Duration
	// InstanceHealthGap is how long after the registration of an instance its health is
	// not in the answers of GetInstancesHealthStatus. AWS says: a brief delay.
	InstanceHealthGap Range
	// DNSPropagation is how long after a change in Cloud Map the name servers
	// answer by it. AWS says seconds, up to about a minute.
	DNSPropagation Range
	// RegistrationGap is how much later than ECS itself sees a task well its
	// record in Cloud Map is HEALTHY (without container health check: is there at
	// all). Rolling updates do not wait for it: former tasks may be deregistered
	// before, and the name is short of records meanwhile.
	RegistrationGap Range
	// ECSRestoresInstances: ECS notices that an instance of a running task was
	// deregistered by somebody else, counts the task set as STABILIZING and puts
	// it back at the next turn of its loop. AWS does not say; by default ECS never
	// notices.
	ECSRestoresInstances bool
	// TokenLifetime is how long CreateService and CreateTaskSet remember a clientToken;
	// 0: for ever. AWS names no time.
	TokenLifetime time.Duration
	// TaskStartsPerMinute is how many tasks ECS starts for one service in a minute; 0:
	// without limit.
	TaskStartsPerMinute int
	// FargateStartsPerSecond is how many tasks an account starts on Fargate in a second,
	// five seconds' worth at once; 0: without limit.
	FargateStartsPerSecond int
	// StartsWithoutLogGroup lets a task start whose log group does not exist and is
	// not to be made: its output is lost. On AWS it does not start.
	StartsWithoutLogGroup bool
	// TaskSetLimit is how many task sets a service may have, draining included.
	TaskSetLimit int
	// Throttle applies AWS's documented token buckets to API calls.
	Throttle bool
}

// DefaultKnobs are delays as seen on AWS with Fargate tasks.
func DefaultKnobs() Knobs {
	s := time.Second
	return Knobs{
		Provisioning:             Range{5 * s, 12 * s},
		Pending:                  Range{3 * s, 8 * s},
		Activating:               Range{8 * s, 20 * s},
		Deactivating:             Range{1 * s, 4 * s},
		Deprovisioning:           Range{5 * s, 15 * s},
		SchedulerLoop:            Range{1 * s, 10 * s},
		TargetRegistration:       Range{1 * s, 3 * s},
		FirstCheck:               Range{0, 5 * s},
		WeightPropagation:        Range{0, 2 * s},
		TargetPropagation:        Range{0, s},
		ScaledOutLimit:           5 * time.Minute,
		StabilityLag:             Range{0, s},
		LoadBalancerProvisioning: Range{60 * s, 120 * s},
		DeployStep:               Range{1 * s, 5 * s},
		StoppedTaskRetention:     time.Hour,
		RestartBackoff:           10 * s,
		HealthyWithoutCheck:      40 * s,
		RegistryOperation:        Range{s, 5 * s},
		CustomHealth:             30 * s,
		InstanceHealthGap:        Range{0, 2 * s},
		DNSPropagation:           Range{0, s},
		RegistrationGap:          Range{0, 5 * s},
		TokenLifetime:            time.Hour,
		TaskStartsPerMinute:      500,
		FargateStartsPerSecond:   20,
		TaskSetLimit:             5,
	}
}

// NoDelays is a world in which AWS itself takes no time.
func NoDelays() Knobs {
	return Knobs{StoppedTaskRetention: time.Hour, RestartBackoff: time.Second, TaskSetLimit: 5}
}
