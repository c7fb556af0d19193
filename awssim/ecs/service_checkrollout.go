package ecs

import (
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/scheduler"
	"github.com/sluice-ecs/sluice/awssim/world"
)

const (
	maxBakeMinutes = 1440
	maxAlarms      = 10
	onlyForECS     = "Deployment strategy, circuit breaker, alarms, bake time and lifecycle hooks are only " +
		"supported with the ECS deployment controller."
)

// setConfiguration stores a deployment configuration and applies its percentages. Nil and absent
// fields keep their values.
func setConfiguration(svc *world.Service, controller string, in *ecstypes.DeploymentConfiguration) error {
	next, err := mergedConfiguration(svc, controller, in)
	if err != nil {
		return err
	}
	docOfService(svc).shape.DeploymentConfiguration = next
	svc.MinPercent, svc.MaxPercent = int(*next.MinimumHealthyPercent), int(*next.MaximumPercent)
	return nil
}

// mergedConfiguration returns a service's deployment configuration with the given fields applied,
// if the controller accepts them.
func mergedConfiguration(svc *world.Service, controller string,
	in *ecstypes.DeploymentConfiguration) (*ecstypes.DeploymentConfiguration, error) {
	next := deepCopy(docOfService(svc).shape.DeploymentConfiguration)
	if next == nil {
		next = &ecstypes.DeploymentConfiguration{}
		if controller == "ECS" {
			next.Strategy, next.BakeTimeInMinutes = "ROLLING", ptr(int32(0))
			next.DeploymentCircuitBreaker = &ecstypes.DeploymentCircuitBreaker{}
		}
	}
	lo, hi := int32(svc.MinPercent), int32(svc.MaxPercent)
	next.MinimumHealthyPercent, next.MaximumPercent = ptr(lo), ptr(hi)
	if in == nil {
		return next, nil
	}
	in = deepCopy(in)
	lo, hi = *orDefault(in.MinimumHealthyPercent, lo), *orDefault(in.MaximumPercent, hi)
	if err := checkDeployment(in, controller, svc.Daemon, lo, hi); err != nil {
		return nil, err
	}
	next.MinimumHealthyPercent, next.MaximumPercent = ptr(lo), ptr(hi)
	if in.DeploymentCircuitBreaker != nil && controller != "CODE_DEPLOY" {
		next.DeploymentCircuitBreaker = in.DeploymentCircuitBreaker
	}
	if in.Alarms != nil {
		next.Alarms = in.Alarms
	}
	if in.BakeTimeInMinutes != nil && controller == "ECS" {
		next.BakeTimeInMinutes = in.BakeTimeInMinutes
	}
	if in.EarlySuccessCriteria != nil {
		next.EarlySuccessCriteria = in.EarlySuccessCriteria
	}
	if controller == "ECS" {
		if err := mergeStrategy(next, in); err != nil {
			return nil, err
		}
	}
	return next, checkEarlySuccess(next.EarlySuccessCriteria, lo)
}

func checkDeployment(in *ecstypes.DeploymentConfiguration, controller string, daemon bool, lo, hi int32) error {
	switch {
	case lo < 0 || lo > 100:
		return invalidParameter("minimumHealthyPercent must be between 0 and 100.")
	case hi < 100:
		return invalidParameter("maximumPercent must be at least 100.")
	case daemon && hi != 100:
		return invalidParameter("maximumPercent must be 100 for services with the DAEMON scheduling strategy.")
	case lo == 100 && hi == 100:
		return invalidParameter(
			"Both maximumPercent and minimumHealthyPercent cannot be 100 as this will block deployments.")
	case controller != "ECS" && (needsECSController(in) || val(in.BakeTimeInMinutes) > 0 || len(in.LifecycleHooks) > 0):
		return invalidParameter("%s", onlyForECS)
	case val(in.BakeTimeInMinutes) < 0 || val(in.BakeTimeInMinutes) > maxBakeMinutes:
		return invalidParameter("bakeTimeInMinutes must be between 0 and %d.", maxBakeMinutes)
	case in.Alarms != nil && in.Alarms.Enable && len(in.Alarms.AlarmNames) == 0:
		return invalidParameter("alarmNames can not be empty when deployment alarms are enabled.")
	case in.Alarms != nil && len(in.Alarms.AlarmNames) > maxAlarms:
		return invalidParameter("alarmNames can have at most %d items.", maxAlarms)
	}
	return checkThreshold(in.DeploymentCircuitBreaker)
}

// needsECSController reports whether a configuration uses a feature that only the ECS controller
// has.
func needsECSController(c *ecstypes.DeploymentConfiguration) bool {
	return c.DeploymentCircuitBreaker != nil && c.DeploymentCircuitBreaker.Enable || isShifting(c.Strategy) ||
		c.Alarms != nil && c.Alarms.Enable || c.EarlySuccessCriteria != nil && c.EarlySuccessCriteria.Enable
}

func checkThreshold(b *ecstypes.DeploymentCircuitBreaker) error {
	if b == nil || b.ThresholdConfiguration == nil {
		return nil
	}
	t := b.ThresholdConfiguration
	switch t.Type {
	case ecstypes.ThresholdTypeBoundedPercent, ecstypes.ThresholdTypeUnboundedPercent:
		if t.Value < 1 || t.Value > 100 {
			return invalidParameter("The value of a %s threshold must be between 1 and 100.", t.Type)
		}
	case ecstypes.ThresholdTypeCount:
		if t.Value < 1 {
			return invalidParameter("The value of a COUNT threshold must be at least 1.")
		}
	}
	return nil
}

func checkEarlySuccess(e *ecstypes.DeploymentEarlySuccessCriteria, lo int32) error {
	switch {
	case e == nil || !e.Enable:
		return nil
	case e.HealthyPercent == nil:
		return invalidParameter("healthyPercent must be specified when early success criteria are enabled.")
	case *e.HealthyPercent < 0 || *e.HealthyPercent > 100:
		return invalidParameter("healthyPercent must be between 0 and 100.")
	case *e.HealthyPercent < lo:
		return invalidParameter("healthyPercent must be greater than or equal to minimumHealthyPercent.")
	case e.SourceServiceRevisionCleanup != ecstypes.ServiceRevisionCleanupBlocking &&
		e.SourceServiceRevisionCleanup != ecstypes.ServiceRevisionCleanupDeferred:
		return invalidParameter(
			"sourceServiceRevisionCleanup must be BLOCKING or DEFERRED when early success criteria are enabled.")
	}
	return nil
}

// rulesOf returns the scheduler's rules for a deployment configuration.
func rulesOf(c *ecstypes.DeploymentConfiguration) (r scheduler.Rules) {
	if b := c.DeploymentCircuitBreaker; b != nil {
		r.Breaker = scheduler.Breaker{Enable: b.Enable, Rollback: b.Rollback, Cumulative: b.ResetOnHealthyTask != nil &&
			!*b.ResetOnHealthyTask}
		if t := b.ThresholdConfiguration; t != nil {
			r.Breaker.Type, r.Breaker.Value = string(t.Type), int(t.Value)
		}
	}
	if a := c.Alarms; a != nil {
		r.Alarms = scheduler.Alarms{Enable: a.Enable, Rollback: a.Rollback, Names: deepCopy(a.AlarmNames)}
	}
	if e := c.EarlySuccessCriteria; e != nil {
		r.Early = scheduler.Early{Enable: e.Enable, HealthyPercent: int(val(e.HealthyPercent)),
			Deferred: e.SourceServiceRevisionCleanup == ecstypes.ServiceRevisionCleanupDeferred}
	}
	r.Bake, r.Strategy = minutesDuration(val(c.BakeTimeInMinutes)), strategyOf(c)
	return r
}
