package rehearse

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// Deployer is what a service that CodeDeploy deploys has at CodeDeploy, where it is
// not of the usual names.
type Deployer struct {
	Application, Group string
	Own                string   // a deployment configuration that is not one of CodeDeploy's
	Hooks              []string // the Lambda functions; they say Succeeded
}

// deployer takes from the files what CodeDeploy must have. The second target group is
// known to the deployment group alone: here it is like the first.
func (w *World) deployer(app *appfile.Application) {
	if !w.byCodeDeploy() {
		return
	}
	w.Deployer = Deployer{Application: app.CodeDeploy.Application, Group: app.CodeDeploy.Group}
	w.configured(app.CodeDeploy.Config)
	for _, h := range app.Hooks {
		if !slices.Contains(w.Deployer.Hooks, h.Function) {
			w.Deployer.Hooks = append(w.Deployer.Hooks, h.Function)
		}
	}
	if w.Primary.ARN != "" && w.Canary.ARN == "" {
		w.Canary = w.Primary
		w.Canary.ARN = strings.Replace(w.Primary.ARN, "/"+w.Primary.Name()+"/", "/rehearsed-other/", 1)
	}
}

// configured is the deployment configuration that deploys.
func (w *World) configured(name string) {
	if w.Config = name; name != "" && !strings.HasPrefix(name, "CodeDeployDefault.") {
		w.Deployer.Own = name
	}
}

// deployed takes from the deployment group that runs what the files do not say.
func (w *World) deployed(d *plan.Deployer) {
	if !w.byCodeDeploy() || d == nil {
		return
	}
	w.Deployer.Application, w.Deployer.Group = d.Application, d.Group
	if w.Config == "" {
		w.configured(d.Config)
	}
	w.Undo = slices.Contains(d.RollbackEvents, "DEPLOYMENT_FAILURE")
	w.Keep, w.Ready = d.Terminate.Round(time.Minute), d.Ready
	for _, name := range d.TargetGroups {
		if name != w.Primary.Name() {
			w.Canary.ARN = strings.Replace(w.Primary.ARN, "/"+w.Primary.Name()+"/", "/"+name+"/", 1)
		}
	}
}

// deployers are the application and the deployment group in the file of the world.
func (w World) deployers(line func(string, ...any)) {
	if !w.byCodeDeploy() {
		return
	}
	d := w.Deployer
	if len(d.Hooks) > 0 {
		line("functions:")
	}
	for _, name := range d.Hooks {
		line("  - {name: %q, after: 3s}", name)
	}
	if d.Own != "" { // nobody knows what it does: it is taken for one that moves a share first
		line("deploymentConfigs:\n  - {name: %q, canary: 10, every: 5m}", d.Own)
	}
	more := ""
	if w.Config != "" {
		more += fmt.Sprintf(", config: %q", w.Config)
	}
	if w.Undo {
		more += ", rollback: [DEPLOYMENT_FAILURE, DEPLOYMENT_STOP_ON_ALARM]"
	}
	if w.Keep > 0 {
		more += ", terminate: " + w.Keep.String()
	}
	more += w.asking()
	line("applications:\n  - name: %q\n    groups:\n      - {name: %q, cluster: %s, service: %s, targetGroups: [%s, %s], listener: \"%s:%d\"%s}",
		cmp.Or(d.Application, "shop"), cmp.Or(d.Group, "web"), w.Cluster, w.Service, w.Primary.Name(), w.Canary.Name(), balancerName(w.Balancer), w.Listeners[0].Port, more)
}
