package shape

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// Deployer is the CodeDeploy configuration of a service, where it differs from the default names.
type Deployer struct {
	Application, Group string
}

// setDeployer sets, from the files, what CodeDeploy must have. Only the deployment group knows the
// second target group: here it equals the first.
func (w *World) setDeployer(app *appfile.Application) {
	if !w.UsesCodeDeploy() {
		return
	}
	w.Deployer = Deployer{Application: app.CodeDeploy.Application, Group: app.CodeDeploy.Group}
	w.Config = app.CodeDeploy.Config
	if w.Primary.ARN != "" && w.Canary.ARN == "" {
		w.Canary = w.Primary
		w.Canary.ARN = GroupARN(w.Primary.ARN, "rehearsed-other")
	}
}

// setFromGroup sets, from the real deployment group, what the files do not contain.
func (w *World) setFromGroup(d *plan.Deployer) {
	if !w.UsesCodeDeploy() || d == nil {
		return
	}
	w.Deployer.Application, w.Deployer.Group = d.Application, d.Group
	w.Config = cmp.Or(w.Config, d.Config)
	w.Undo = slices.Contains(d.RollbackEvents, "DEPLOYMENT_FAILURE")
	w.Keep, w.Ready = d.Terminate.Round(time.Minute), d.Ready
	for _, name := range d.TargetGroups {
		if name != w.Primary.Name() {
			w.Canary.ARN = GroupARN(w.Primary.ARN, name)
		}
	}
}

// GroupARN returns the ARN of a target group with another name, next to one that exists.
func GroupARN(like, name string) string {
	return strings.Replace(like, "/"+sluice.TargetGroupName(like)+"/", "/"+name+"/", 1)
}
