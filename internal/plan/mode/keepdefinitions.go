package mode

import (
	"fmt"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// planDeregistration plans the deregistration of obsolete task definitions, if the file asks for
// it.
func planDeregistration(p *plan.Plan, app *appfile.Application) {
	if app.KeepDefinitions == 0 {
		return
	}
	p.KeepDefinitions = app.KeepDefinitions
	p.Finish = append(p.Finish, sluice.Write{Operation: "ecs:DeregisterTaskDefinition",
		Resource: plan.ObsoleteDefinitions})
	p.Notes = append(p.Notes, fmt.Sprintf("after a success, task definitions of family %s older than the newest %d "+
		"are deregistered, if sluice registered them for this service (tag %s) and no task runs them",
		*app.Task.Input.Family, app.KeepDefinitions, plan.DefinitionTag))
}
