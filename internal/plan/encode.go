package plan

import (
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice/internal/definition"
)

// DecodeTask decodes the task definition of the plan.
func (p *Plan) DecodeTask() (*definition.Task, error) {
	return definition.DecodeTask("task definition of the plan", p.Task)
}

// DecodeService decodes the service definition of the plan. That of a standalone task is empty.
func (p *Plan) DecodeService() (*definition.Service, error) {
	if !p.Mode().HasService() {
		return &definition.Service{Input: &awsecs.CreateServiceInput{}}, nil
	}
	return definition.DecodeService("service definition of the plan", p.Definition)
}
