package ecs

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
)

// Setting is, in the shape of a service definition, what would bring a task set
// once more: its task definition, load balancer, network and capacity. It survives
// as JSON.
type Setting struct {
	Input *awsecs.CreateServiceInput `json:"input"`
}

// Setting is that of the PRIMARY task set; nil if there is none.
func (l *Live) Setting() *Setting {
	for _, ts := range l.Raw.TaskSets {
		if aws.ToString(ts.Status) == "PRIMARY" {
			return &Setting{&awsecs.CreateServiceInput{ServiceName: l.Raw.ServiceName, TaskDefinition: ts.TaskDefinition, LoadBalancers: ts.LoadBalancers,
				NetworkConfiguration: ts.NetworkConfiguration, PlatformVersion: ts.PlatformVersion, CapacityProviderStrategy: ts.CapacityProviderStrategy}}
		}
	}
	return nil
}

// ARNOf is the ARN of a revision, which may be known by its name only, in the
// account and Region of the service.
func (l *Live) ARNOf(rev Revision) string {
	if strings.HasPrefix(rev.ARN, "arn:") {
		return rev.ARN
	}
	before, _, _ := strings.Cut(l.ARN, ":service/")
	return before + ":task-definition/" + rev.Name
}
