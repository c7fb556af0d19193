package appfile

import (
	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile/locate"
)

// onlyDefinitions is the application file of a folder that has only the two definition files.
const onlyDefinitions = "input: {taskDefinitionFile: " + locate.TaskFile + ", serviceDefinitionFile: " +
	locate.ServiceFile + "}\n"

// implyAccess sets the access type of an application whose file has none: how the service definition says
// that callers reach the service.
func (l *loader) implyAccess() {
	if l.app.Service == nil {
		return
	}
	switch in := l.app.Service.Input; {
	case len(in.LoadBalancers) > 0:
		l.app.Access = sluice.ELB
	case len(in.ServiceRegistries) > 0:
		l.app.Access = sluice.ServiceDiscovery
	default:
		l.app.Access = sluice.NoAccess
	}
}
