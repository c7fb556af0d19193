package definition

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
)

// ContainersWithCheck returns the names of the containers that have a health check of their own.
func (t *Task) ContainersWithCheck() []string {
	return ContainersWithCheck(t.Input.ContainerDefinitions)
}

// ContainersWithCheck returns the names of those containers that have a health check of their own.
func ContainersWithCheck(all []ecstypes.ContainerDefinition) (names []string) {
	for _, c := range all {
		if c.HealthCheck != nil {
			names = append(names, aws.ToString(c.Name))
		}
	}
	return names
}

// TargetType returns the type of the targets that tasks with a network mode are: "ip" if each task has an address of its
// own, otherwise "instance".
func TargetType(mode ecstypes.NetworkMode) string {
	if mode == ecstypes.NetworkModeAwsvpc {
		return "ip"
	}
	return "instance"
}
