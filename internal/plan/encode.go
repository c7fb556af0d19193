package plan

import (
	"github.com/sluice-ecs/sluice/internal/definition"
)

// DecodeTask reads back the task definition of the plan.
func (p *Plan) DecodeTask() (*definition.Task, error) {
	return definition.DecodeTask("task definition of the plan", p.Task)
}

// DecodeService reads back the service definition of the plan.
func (p *Plan) DecodeService() (*definition.Service, error) {
	return definition.DecodeService("service definition of the plan", p.Definition)
}
