package plan

import (
	"fmt"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
)

// DefinitionTag is the tag on a task definition that says for which service sluice
// registered it: "<cluster>/<service>". It is set where old ones are to be
// deregistered, and nothing without it ever is.
const DefinitionTag = "sluice:service"

// OldDefinitions is how the plan lists what is deregistered in the end.
const OldDefinitions = "old task definitions of ours"

// keeps plans the end of old task definitions, if the file asks for it.
func (p *Plan) keeps(app *appfile.Application) {
	if app.KeepDefinitions == 0 {
		return
	}
	p.KeepDefinitions = app.KeepDefinitions
	p.Finish = append(p.Finish, sluice.Write{Operation: "ecs:DeregisterTaskDefinition", Resource: OldDefinitions})
	p.Notes = append(p.Notes, fmt.Sprintf("after a success, task definitions of family %s older than the newest %d are deregistered, if sluice registered them for this service (tag %s) and no task runs them",
		*app.Task.Input.Family, app.KeepDefinitions, DefinitionTag))
}
