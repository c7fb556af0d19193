package definition

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
)

// FixedHostPort returns the first container port that each task publishes at the same port of its container instance,
// so that an instance runs only one task; 0 if there is none. On Fargate and in network mode awsvpc a task has an address
// of its own.
func (t *Task) FixedHostPort() (container string, port int32) {
	mode := t.Input.NetworkMode
	if slices.Contains(t.Input.RequiresCompatibilities, ecstypes.CompatibilityFargate) ||
		mode == ecstypes.NetworkModeAwsvpc || mode == ecstypes.NetworkModeNone {
		return "", 0
	}
	for _, d := range t.Input.ContainerDefinitions {
		for _, m := range d.PortMappings {
			if host := aws.ToInt32(m.HostPort); host != 0 {
				return aws.ToString(d.Name), host
			}
			if mode == ecstypes.NetworkModeHost && m.ContainerPort != nil {
				return aws.ToString(d.Name), *m.ContainerPort
			}
		}
	}
	return "", 0
}
