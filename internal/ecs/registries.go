package ecs

import "github.com/aws/aws-sdk-go-v2/aws"

// RegistryARNs returns the Cloud Map registries of the PRIMARY task set, or of the service if that
// set has none.
func (l *ServiceState) RegistryARNs() []string {
	registries := l.Raw.ServiceRegistries
	for _, set := range l.Raw.TaskSets {
		if aws.ToString(set.Status) == "PRIMARY" && len(set.ServiceRegistries) > 0 {
			registries = set.ServiceRegistries
			break
		}
	}
	var arns []string
	for _, r := range registries {
		arns = append(arns, aws.ToString(r.RegistryArn))
	}
	return arns
}
