package plan

import (
	"fmt"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
)

// DefinitionTag is the tag on a task definition that names the service for which sluice registered
// it: "<cluster>/<service>". sluice sets the tag if the file asks to deregister obsolete revisions.
// It never deregisters a revision without the tag.
const DefinitionTag = "sluice:service"

// ObsoleteDefinitions is the name that plans use for the revisions deregistered when the deployment
// ends.
const ObsoleteDefinitions = "old task definitions of ours"

// planDeregistration plans the deregistration of obsolete task definitions, if the file asks for
// it.
func (p *Plan) planDeregistration(app *appfile.Application) {
	if app.KeepDefinitions == 0 {
		return
	}
	p.KeepDefinitions = app.KeepDefinitions
	p.Finish = append(p.Finish, sluice.Write{Operation: "ecs:DeregisterTaskDefinition", Resource: ObsoleteDefinitions})
	p.Notes = append(p.Notes, fmt.Sprintf("after a success, task definitions of family %s older than the newest %d "+
		"are deregistered, if sluice registered them for this service (tag %s) and no task runs them",
		*app.Task.Input.Family, app.KeepDefinitions, DefinitionTag))
}
