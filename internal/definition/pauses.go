package definition

import (
	"slices"

	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
)

// HasPauses reports whether ECS pauses the service's deployments until a person answers a hook.
func (s *Service) HasPauses() bool {
	c := s.Input.DeploymentConfiguration
	return c != nil && slices.ContainsFunc(c.LifecycleHooks, IsPause)
}

// IsPause reports whether ECS waits at a lifecycle hook for a person.
func IsPause(h ecstypes.DeploymentLifecycleHook) bool {
	return h.TargetType == ecstypes.DeploymentLifecycleHookTargetTypePause
}
