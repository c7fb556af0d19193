package ecs

import (
	"math"
	"time"

	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/scheduler"
)

// Defaults and limits of strategies (API Reference, CanaryConfiguration, LinearConfiguration,
// DeploymentLifecycleHook).
const (
	defaultCanary, defaultCanaryBake   = 5.0, 10
	defaultStep, defaultStepBake       = 10.0, 6
	leastCanary, leastStep             = 0.1, 3.0
	maxHooksOfType                     = 10
	defaultHookTimeout                 = 1440
	maxLambdaTimeout, maxPauseTimeout  = 1440, 20160
	lambdaHook                         = ecstypes.DeploymentLifecycleHookTargetTypeAwsLambda
	pauseHook                          = ecstypes.DeploymentLifecycleHookTargetTypePause
	strategyBlueGreen, strategyRolling = ecstypes.DeploymentStrategyBlueGreen, ecstypes.DeploymentStrategyRolling
)

// isShifting reports whether a strategy moves traffic between two revisions: all but ROLLING.
func isShifting(s ecstypes.DeploymentStrategy) bool { return s != "" && s != strategyRolling }

// mergeStrategy applies the fields of a strategy to a configuration and fills in AWS's defaults. It
// refuses what AWS refuses. Nil and absent fields keep their values.
func mergeStrategy(next, in *ecstypes.DeploymentConfiguration) error {
	was := next.Strategy
	if in.Strategy != "" {
		next.Strategy = in.Strategy
	}
	switch {
	case next.Strategy == strategyBlueGreen && was != strategyBlueGreen && in.BakeTimeInMinutes == nil:
		return invalidParameter("bakeTimeInMinutes must be specified with the BLUE_GREEN deployment strategy.")
	case isShifting(next.Strategy) && in.EarlySuccessCriteria != nil && in.EarlySuccessCriteria.Enable:
		return invalidParameter("Early success criteria are only supported with the ROLLING deployment strategy.")
	}
	if in.LifecycleHooks != nil {
		next.LifecycleHooks = in.LifecycleHooks
	}
	if isShifting(was) && !isShifting(next.Strategy) && in.BakeTimeInMinutes == nil {
		next.BakeTimeInMinutes = ptr(int32(0))
	}
	if !isShifting(next.Strategy) && len(next.LifecycleHooks) > 0 {
		return notSimulated("Lifecycle hooks of rolling deployments")
	}
	if err := mergeCanary(next, in.CanaryConfiguration); err != nil {
		return err
	}
	if err := mergeLinear(next, in.LinearConfiguration); err != nil {
		return err
	}
	return checkHooks(next.LifecycleHooks)
}

func mergeCanary(next *ecstypes.DeploymentConfiguration, in *ecstypes.CanaryConfiguration) error {
	if next.Strategy != ecstypes.DeploymentStrategyCanary {
		next.CanaryConfiguration = nil
		if in != nil {
			return invalidParameter("canaryConfiguration is only supported with the CANARY deployment strategy.")
		}
		return nil
	}
	if in == nil {
		in = orDefault(next.CanaryConfiguration, ecstypes.CanaryConfiguration{})
	}
	in.CanaryPercent = orDefault(in.CanaryPercent, defaultCanary)
	in.CanaryBakeTimeInMinutes = orDefault(in.CanaryBakeTimeInMinutes, defaultCanaryBake)
	next.CanaryConfiguration = in
	return firstError(checkShare("canaryPercent", *in.CanaryPercent, leastCanary),
		checkMinutes("canaryBakeTimeInMinutes", *in.CanaryBakeTimeInMinutes, 0, maxBakeMinutes))
}

func mergeLinear(next *ecstypes.DeploymentConfiguration, in *ecstypes.LinearConfiguration) error {
	if next.Strategy != ecstypes.DeploymentStrategyLinear {
		next.LinearConfiguration = nil
		if in != nil {
			return invalidParameter("linearConfiguration is only supported with the LINEAR deployment strategy.")
		}
		return nil
	}
	if in == nil {
		in = orDefault(next.LinearConfiguration, ecstypes.LinearConfiguration{})
	}
	in.StepPercent = orDefault(in.StepPercent, defaultStep)
	in.StepBakeTimeInMinutes = orDefault(in.StepBakeTimeInMinutes, defaultStepBake)
	next.LinearConfiguration = in
	return firstError(checkShare("stepPercent", *in.StepPercent, leastStep),
		checkMinutes("stepBakeTimeInMinutes", *in.StepBakeTimeInMinutes, 0, maxBakeMinutes))
}

// checkShare refuses a percentage that is not a multiple of 0.1 within its bounds.
func checkShare(name string, percent, least float64) error {
	if percent < least || percent > 100 || math.Abs(percent*10-math.Round(percent*10)) > 1e-6 {
		return invalidParameter("%s must be a multiple of 0.1 between %.1f and 100.0.", name, least)
	}
	return nil
}

func checkMinutes(name string, minutes, least, most int32) error {
	if minutes < least || minutes > most {
		return invalidParameter("%s must be between %d and %d.", name, least, most)
	}
	return nil
}

func checkHooks(hooks []ecstypes.DeploymentLifecycleHook) error {
	number := map[ecstypes.DeploymentLifecycleHookTargetType]int{}
	for _, h := range hooks {
		if err := checkHook(h); err != nil {
			return err
		}
		kind := hookType(h)
		if number[kind]++; number[kind] > maxHooksOfType {
			return invalidParameter("lifecycleHooks can have at most %d items of type %s.", maxHooksOfType, kind)
		}
	}
	return nil
}

// hookType returns the target type of a hook; AWS_LAMBDA is the default.
func hookType(h ecstypes.DeploymentLifecycleHook) ecstypes.DeploymentLifecycleHookTargetType {
	if h.TargetType == "" {
		return lambdaHook
	}
	return h.TargetType
}

func checkHook(h ecstypes.DeploymentLifecycleHook) error {
	most := int32(maxLambdaTimeout)
	switch {
	case len(h.LifecycleStages) == 0:
		return invalidParameter("lifecycleStages of a lifecycle hook can not be empty.")
	case hookType(h) == lambdaHook && (val(h.HookTargetArn) == "" || val(h.RoleArn) == ""):
		return invalidParameter("A lifecycle hook of type AWS_LAMBDA must have a hookTargetArn and a roleArn.")
	case hookType(h) == pauseHook && (val(h.HookTargetArn) != "" || val(h.RoleArn) != "" || h.HookDetails != nil):
		return invalidParameter(
			"A lifecycle hook of type PAUSE can not have a hookTargetArn, a roleArn or hookDetails.")
	case hookType(h) == pauseHook:
		most = maxPauseTimeout
		for _, stage := range h.LifecycleStages {
			if stage == scheduler.StageTest || stage == scheduler.StageProduction {
				return invalidParameter("A lifecycle hook of type PAUSE is not supported at lifecycle stage %s.", stage)
			}
		}
	}
	if t := h.TimeoutConfiguration; t != nil && t.TimeoutInMinutes != nil {
		return checkMinutes("timeoutInMinutes", *t.TimeoutInMinutes, 1, most)
	}
	return nil
}

// strategyOf returns the scheduler's strategy of a configuration.
func strategyOf(c *ecstypes.DeploymentConfiguration) (s scheduler.Strategy) {
	if !isShifting(c.Strategy) {
		return s
	}
	s.Kind = string(c.Strategy)
	if x := c.CanaryConfiguration; x != nil {
		s.Step, s.StepBake = shareOf(*x.CanaryPercent), minutesDuration(*x.CanaryBakeTimeInMinutes)
	}
	if x := c.LinearConfiguration; x != nil {
		s.Step, s.StepBake = shareOf(*x.StepPercent), minutesDuration(*x.StepBakeTimeInMinutes)
	}
	for _, h := range c.LifecycleHooks {
		x := scheduler.Hook{Function: val(h.HookTargetArn), Timeout: minutesDuration(defaultHookTimeout)}
		for _, stage := range h.LifecycleStages {
			x.Stages = append(x.Stages, string(stage))
		}
		if t := h.TimeoutConfiguration; t != nil {
			x.Timeout = minutesDuration(*orDefault(t.TimeoutInMinutes, defaultHookTimeout))
			x.Continues = t.Action == ecstypes.DeploymentLifecycleHookActionContinue
		}
		s.Hooks = append(s.Hooks, x)
	}
	return s
}

func shareOf(percent float64) scheduler.Share { return scheduler.Share(math.Round(percent * 10)) }

func minutesDuration(n int32) time.Duration { return time.Duration(n) * time.Minute }
