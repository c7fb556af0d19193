package forecast

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
)

// configuration returns the deployment configuration of the plan; empty if it has none.
func (f *Estimate) configuration() ecstypes.DeploymentConfiguration {
	if s, err := f.plan.DecodeService(); err == nil && s.Input.DeploymentConfiguration != nil {
		return *s.Input.DeploymentConfiguration
	}
	return ecstypes.DeploymentConfiguration{}
}

// bakeTime returns how long ECS waits between its own traffic shifts and after the last one (ECS API Reference,
// DeploymentConfiguration). What it computes from alarms, without a bake time in the files, is not known.
func (f *Estimate) bakeTime() time.Duration {
	c := f.configuration()
	total := aws.ToInt32(c.BakeTimeInMinutes)
	switch c.Strategy {
	case ecstypes.DeploymentStrategyBlueGreen:
	case ecstypes.DeploymentStrategyLinear:
		step, bake := 10.0, int32(6)
		if l := c.LinearConfiguration; l != nil {
			step, bake = *orDefault(l.StepPercent, step), *orDefault(l.StepBakeTimeInMinutes, bake)
		}
		for share := step; share < 100; share += step {
			total += bake
		}
	case ecstypes.DeploymentStrategyCanary:
		bake := int32(10)
		if l := c.CanaryConfiguration; l != nil {
			bake = *orDefault(l.CanaryBakeTimeInMinutes, bake)
		}
		total += bake
	}
	return time.Duration(total) * time.Minute
}

// shiftsItself reports whether ECS starts all new tasks beside the old ones and shifts the traffic itself.
func shiftsItself(c ecstypes.DeploymentConfiguration) bool {
	return c.Strategy != "" && c.Strategy != ecstypes.DeploymentStrategyRolling
}

// hookCount returns how many lifecycle hooks ECS calls.
func (f *Estimate) hookCount() int { return len(f.configuration().LifecycleHooks) }
