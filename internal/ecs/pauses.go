package ecs

import (
	"cmp"
	"reflect"
	"slices"

	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/internal/definition"
)

// WithoutNewPauses returns u without the lifecycle hooks at which ECS waits for a person and which the service does not
// have now, and the lifecycle stages of those hooks.
func (u Update) WithoutNewPauses(live *ServiceState) (out Update, stages []string) {
	to := u.Values.DeploymentConfiguration
	if to == nil {
		return u, nil
	}
	now := pausesOf(live.Raw.DeploymentConfiguration)
	var left []ecstypes.DeploymentLifecycleHook
	kept := slices.DeleteFunc(slices.Clone(to.LifecycleHooks), func(h ecstypes.DeploymentLifecycleHook) bool {
		isNew := definition.IsPause(h) && !slices.ContainsFunc(now, func(have ecstypes.DeploymentLifecycleHook) bool {
			return reflect.DeepEqual(have, h)
		})
		if isNew {
			left = append(left, h)
		}
		return isNew
	})
	if len(left) > 0 {
		without := *to
		without.LifecycleHooks = kept
		u.Values.DeploymentConfiguration = &without
	}
	return u, stagesOf(left)
}

// Pauses returns the lifecycle stages at which ECS waits for a person in a deployment with u.
func (u Update) Pauses(live *ServiceState) []string {
	return stagesOf(pausesOf(cmp.Or(u.Values.DeploymentConfiguration, live.Raw.DeploymentConfiguration)))
}

func pausesOf(c *ecstypes.DeploymentConfiguration) []ecstypes.DeploymentLifecycleHook {
	if c == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(c.LifecycleHooks),
		func(h ecstypes.DeploymentLifecycleHook) bool { return !definition.IsPause(h) })
}

func stagesOf(hooks []ecstypes.DeploymentLifecycleHook) (all []string) {
	for _, h := range hooks {
		for _, stage := range h.LifecycleStages {
			all = append(all, string(stage))
		}
	}
	return all
}
