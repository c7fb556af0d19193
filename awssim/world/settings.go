package world

import "time"

// Range is a delay, chosen at random and evenly between two bounds.
type Range struct{ Min, Max time.Duration }

// Settings are the world's delays and the switches for behaviour that AWS does not document. The
// defaults are what published logs show (FIDELITY.md names each source). [NoDelays] is for
// measurements without the time that AWS takes.
type Settings struct {
	// Task start on Fargate: PROVISIONING, PENDING, ACTIVATING (image pull).
	Provisioning, Pending, Activating Range
	// Task end: DEACTIVATING and DEPROVISIONING, in addition to drain and stop timeout.
	Deactivating, Deprovisioning Range
	// SchedulerLoop is how long after a change the service scheduler acts.
	SchedulerLoop Range
	// TargetRegistration is initial/RegistrationInProgress before checks begin.
	TargetRegistration Range
	// FirstCheck is how long after its registration a target gets its first health check; at most
	// the group's interval.
	FirstCheck Range
	// WeightPropagation is how long a changed rule takes to reach the nodes.
	WeightPropagation Range
	// TargetPropagation is how long the nodes of a load balancer continue to send requests to a
	// deregistered target. The nodes begin to check a registered target that much later than the
	// API shows it. AWS names no time.
	TargetPropagation Range
	// NetworkWeightPropagation is WeightPropagation for each node of a Network Load Balancer. AWS
	// names no time; ECS waits about ten minutes after each change.
	NetworkWeightPropagation Range
	// NetworkTargetPropagation is TargetPropagation for Network Load Balancers.
	NetworkTargetPropagation Range
	// NetworkConnectionClose is how long after a weight of 0 reached a node of a Network Load
	// Balancer the node closes the open connections to the group; 0: they stay open. AWS names no
	// time.
	NetworkConnectionClose Range
	// LoadBalancerProvisioning is how long a load balancer is "provisioning".
	LoadBalancerProvisioning Range
	// DeployStep is how long CodeDeploy takes between two steps of a deployment.
	DeployStep Range
	// ScaledOutLimit is how long CodeDeploy continues a deployment after its service was scaled
	// out; then the deployment fails. AWS says that it may fail after five minutes. 0: it
	// continues.
	ScaledOutLimit time.Duration
	// LifecycleStep is how long after the end of one lifecycle stage of a blue/green, linear or canary
	// deployment ECS begins the next one. AWS names no time.
	LifecycleStep Range
	// StabilityLag is how much later than ECS itself the API returns a task set's new
	// stabilityStatus. AWS names no time.
	StabilityLag Range
	// StickyLeavesZeroWeight: a client with a group cookie gets another group when the weight of
	// its group is set to 0. AWS does not document this; by default the client stays.
	StickyLeavesZeroWeight bool
	// StickyKeepsEmptyGroup: a client with a group cookie stays even when its group has no target,
	// and gets 503. AWS does not document this; by default the client gets another group.
	StickyKeepsEmptyGroup bool
	// StaleReads: describe calls may return the state of that long ago.
	StaleReads Range
	// StoppedTaskRetention is how long describe calls return stopped tasks: at least an hour on
	// AWS.
	StoppedTaskRetention time.Duration
	// RestartBackoff is the first wait before the next start when tasks repeatedly fail to reach
	// RUNNING. It doubles up to 27 minutes, as on AWS.
	RestartBackoff time.Duration
	// HealthyWithoutCheck: a task without any health check counts as healthy that long after
	// RUNNING (rolling updates).
	HealthyWithoutCheck time.Duration
	// BreakerIgnoresExits excludes some tasks from the deployment circuit breaker: those whose
	// container exits by itself before they were healthy. The first version of the circuit breaker
	// did so.
	BreakerIgnoresExits bool
	// BreakerIgnoresPlacement excludes starts that could not be placed from the circuit breaker.
	BreakerIgnoresPlacement bool
	// StopTaskAwaitsDrain makes StopTask wait for the drain of the task's targets before the stop
	// signal, as the service scheduler does. Off by default: users reported requests lost to
	// StopTask.
	StopTaskAwaitsDrain bool
	// MetricDelay is how long after its end CloudWatch shows a minute of a load balancer. The
	// number of a minute grows within that time. AWS says: minutes.
	MetricDelay Range
	// RegistryOperation is how long Cloud Map's asynchronous operations take; they take effect at
	// their end.
	RegistryOperation Range
	// CustomHealth is how long after UpdateInstanceCustomHealthStatus an instance's health changes.
	CustomHealth time.Duration
	// InstanceHealthGap is how long GetInstancesHealthStatus omits a newly registered instance. AWS
	// says: a brief delay.
	InstanceHealthGap Range
	// DNSPropagation is how long after a change in Cloud Map the name servers answer by it. AWS
	// says: seconds, up to about a minute.
	DNSPropagation Range
	// RegistrationGap is how much later than ECS sees a task as healthy its Cloud Map instance
	// becomes HEALTHY. Without a container health check the instance is registered that much later.
	// Rolling updates do not wait for it: old tasks may be deregistered earlier, and the name then
	// has too few records.
	RegistrationGap Range
	// ECSRestoresInstances: ECS notices that another actor deregistered the instance of a running
	// task. It sets the task set to STABILIZING and registers the instance again at the next turn
	// of its loop. AWS does not document this; by default ECS does not notice.
	ECSRestoresInstances bool
	// TokenLifetime is how long CreateService and CreateTaskSet remember a clientToken; 0: without
	// limit. AWS names no time.
	TokenLifetime time.Duration
	// TaskStartsPerMinute is how many tasks ECS starts for one service per minute; 0: without
	// limit.
	TaskStartsPerMinute int
	// FargateStartsPerSecond is how many tasks an account starts on Fargate per second, with a
	// burst of five seconds' worth; 0: without limit.
	FargateStartsPerSecond int
	// StartsWithoutLogGroup: a task starts although its log group does not exist and
	// awslogs-create-group is off; its output is lost. On AWS the task does not start.
	StartsWithoutLogGroup bool
	// TaskSetLimit is how many task sets a service may have, including those that drain.
	TaskSetLimit int
	// Throttle: API calls are limited by AWS's documented token buckets.
	Throttle bool
}

// DefaultSettings returns the delays of AWS with Fargate tasks, as seen in logs.
func DefaultSettings() Settings {
	s := time.Second
	return Settings{
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
		NetworkWeightPropagation: Range{60 * s, 540 * s},
		NetworkTargetPropagation: Range{0, 60 * s},
		NetworkConnectionClose:   Range{120 * s, 300 * s},
		ScaledOutLimit:           5 * time.Minute,
		StabilityLag:             Range{0, s},
		LoadBalancerProvisioning: Range{60 * s, 120 * s},
		DeployStep:               Range{1 * s, 5 * s},
		LifecycleStep:            Range{5 * s, 15 * s},
		StoppedTaskRetention:     time.Hour,
		RestartBackoff:           10 * s,
		HealthyWithoutCheck:      40 * s,
		MetricDelay:              Range{60 * s, 180 * s},
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

// NoDelays returns settings with which AWS itself takes no time.
func NoDelays() Settings {
	return Settings{StoppedTaskRetention: time.Hour, RestartBackoff: time.Second, TaskSetLimit: 5}
}
