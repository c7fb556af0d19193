package rolling

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// leaveOutPauses leaves lifecycle hooks out of what a rollback restores, at which ECS would wait for a person and which
// the service does not have now: callers would keep the version that is rolled back.
func leaveOutPauses(s *step.Step, live *ecs.ServiceState, back ecs.Update) ecs.Update {
	to := back.Values.DeploymentConfiguration
	if to == nil {
		return back
	}
	now := pausesOf(live.Raw.DeploymentConfiguration)
	var left []ecstypes.DeploymentLifecycleHook
	kept := []ecstypes.DeploymentLifecycleHook{}
	for _, h := range to.LifecycleHooks {
		if isPause(h) && !slices.ContainsFunc(now, func(have ecstypes.DeploymentLifecycleHook) bool {
			return reflect.DeepEqual(have, h)
		}) {
			left = append(left, h)
			continue
		}
		kept = append(kept, h)
	}
	if len(left) == 0 {
		return back
	}
	s.EmitNote("the rollback leaves out the hook at which ECS waited for a person before (%s): the service does not have it "+
		"now, and callers would keep the version that is rolled back", stagesOf(left))
	without := *to
	without.LifecycleHooks = kept
	back.Values.DeploymentConfiguration = &without
	return back
}

// notePauses says before the deployment of the former version that ECS waits at hooks of the service for a person.
func notePauses(s *step.Step, live *ecs.ServiceState, back ecs.Update) {
	config := cmp.Or(back.Values.DeploymentConfiguration, live.Raw.DeploymentConfiguration)
	if pauses := pausesOf(config); len(pauses) > 0 {
		s.EmitWarning("ECS pauses this rollback at a hook of the service (%s), until it is answered by sluice continue",
			stagesOf(pauses))
	}
}

// pausesOf returns the hooks at which ECS waits for a person.
func pausesOf(c *ecstypes.DeploymentConfiguration) []ecstypes.DeploymentLifecycleHook {
	if c == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(c.LifecycleHooks), func(h ecstypes.DeploymentLifecycleHook) bool { return !isPause(h) })
}

func isPause(h ecstypes.DeploymentLifecycleHook) bool {
	return h.TargetType == ecstypes.DeploymentLifecycleHookTargetTypePause
}

// stagesOf returns the lifecycle stages of hooks.
func stagesOf(hooks []ecstypes.DeploymentLifecycleHook) string {
	var all []string
	for _, h := range hooks {
		for _, stage := range h.LifecycleStages {
			all = append(all, string(stage))
		}
	}
	return strings.Join(all, ", ")
}
