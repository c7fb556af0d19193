package shape

import (
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// Deployer is the CodeDeploy configuration of a service, where it differs from the default names.
type Deployer struct {
	Application, Group string
	CustomConfig       string // a custom deployment configuration
}

// setDeployer sets, from the files, what CodeDeploy must have. Only the deployment group knows the
// second target group: here it equals the first.
func (w *World) setDeployer(app *appfile.Application) {
	if !w.UsesCodeDeploy() {
		return
	}
	w.Deployer = Deployer{Application: app.CodeDeploy.Application, Group: app.CodeDeploy.Group}
	w.setConfig(app.CodeDeploy.Config)
	if w.Primary.ARN != "" && w.Canary.ARN == "" {
		w.Canary = w.Primary
		w.Canary.ARN = strings.Replace(w.Primary.ARN, "/"+w.Primary.Name()+"/", "/rehearsed-other/", 1)
	}
}

// setConfig sets the deployment configuration.
func (w *World) setConfig(name string) {
	if w.Config = name; name != "" && !strings.HasPrefix(name, "CodeDeployDefault.") {
		w.Deployer.CustomConfig = name
	}
}

// setFromGroup sets, from the real deployment group, what the files do not contain.
func (w *World) setFromGroup(d *plan.Deployer) {
	if !w.UsesCodeDeploy() || d == nil {
		return
	}
	w.Deployer.Application, w.Deployer.Group = d.Application, d.Group
	if w.Config == "" {
		w.setConfig(d.Config)
	}
	w.Undo = slices.Contains(d.RollbackEvents, "DEPLOYMENT_FAILURE")
	w.Keep, w.Ready = d.Terminate.Round(time.Minute), d.Ready
	for _, name := range d.TargetGroups {
		if name != w.Primary.Name() {
			w.Canary.ARN = strings.Replace(w.Primary.ARN, "/"+w.Primary.Name()+"/", "/"+name+"/", 1)
		}
	}
}
