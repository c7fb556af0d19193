package ecs

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
)

// TaskSetSpec has the settings that create a task set again: its task definition, load balancer,
// network and capacity. It has the form of a service definition. It is saved as JSON.
type TaskSetSpec struct {
	Input *awsecs.CreateServiceInput `json:"input"`
}

// PrimarySpec returns the settings of the PRIMARY task set; nil if there is none.
func (l *ServiceState) PrimarySpec() *TaskSetSpec {
	for _, ts := range l.Raw.TaskSets {
		if aws.ToString(ts.Status) == "PRIMARY" {
			return &TaskSetSpec{&awsecs.CreateServiceInput{ServiceName: l.Raw.ServiceName,
				TaskDefinition: ts.TaskDefinition, LoadBalancers: ts.LoadBalancers,
				NetworkConfiguration: ts.NetworkConfiguration, PlatformVersion: ts.PlatformVersion,
				CapacityProviderStrategy: ts.CapacityProviderStrategy}}
		}
	}
	return nil
}

// WithRevision returns the settings with another revision.
func (t *TaskSetSpec) WithRevision(arn string) *TaskSetSpec {
	in := *t.Input
	in.TaskDefinition = &arn
	return &TaskSetSpec{&in}
}

// ARNOf returns the ARN of a revision in the account and Region of the service. The revision may
// have only a name.
func (l *ServiceState) ARNOf(rev Revision) string {
	if strings.HasPrefix(rev.ARN, "arn:") {
		return rev.ARN
	}
	before, _, _ := strings.Cut(l.ARN, ":service/")
	return before + ":task-definition/" + rev.Name
}
