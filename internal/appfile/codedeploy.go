package appfile

import (
	"strings"

	"github.com/sluice-ecs/sluice/internal/appfile/values"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/definition/appspec"
)

// codeDeployKeys returns the keys for services that AWS CodeDeploy deploys.
func codeDeployKeys() []key {
	return []key{
		honouredKey("codedeploy", shape{kind: object, keys: []key{
			honouredKey("applicationName", shape{kind: text},
				"The CodeDeploy application. Default: the one with a deployment group for the service."),
			honouredKey("deploymentGroupName", shape{kind: text},
				"The deployment group. Default: the one for the service."),
			honouredKey("deploymentConfigName", shape{kind: text},
				"The deployment configuration, such as CodeDeployDefault.ECSCanary10Percent5Minutes. Default: that "+
					"of the deployment group."),
		}}, "The CodeDeploy settings of a service with deployment controller CODE_DEPLOY."),
		honouredKey("appspec", shape{kind: object, keys: []key{
			honouredKey("Hooks", shape{kind: list, of: hookShape()},
				"Lambda functions that CodeDeploy calls, one per lifecycle event: "+
					strings.Join(appspec.HookEvents(), ", ")+"."),
		}}, "Fields of the AppSpec in addition to the definitions."),
	}
}

// hookShape returns the shape of one hook: a lifecycle event with its function.
func hookShape() *shape {
	s := &shape{kind: object, one: true}
	for _, event := range appspec.HookEvents() {
		s.keys = append(s.keys, honouredKey(event, shape{kind: text}, "A Lambda function, by name or ARN."))
	}
	return s
}

// fillCodeDeploy reads the deployment group and the hooks.
func (l *loader) fillCodeDeploy(spec, input *definition.Node) {
	of, hooks := spec.Get("codedeploy"), spec.Get("appspec").Get("Hooks")
	if l.app.Format != Sluice {
		of, hooks = input.Get("codedeploy"), input.Get("appspec").Get("Hooks")
	}
	l.app.CodeDeploy = CodeDeploy{
		Application: values.Text(of.Get("applicationName")),
		Group:       values.Text(of.Get("deploymentGroupName")),
		Config:      values.Text(of.Get("deploymentConfigName")),
	}
	if l.ecspresso != nil && !values.IsGiven(of) {
		l.app.CodeDeploy = codeDeployOfEcspresso(l.ecspresso.Root.Get("codedeploy"))
	}
	if l.ecspresso != nil && hooks == nil {
		l.inEcspresso(func(root *definition.Node) { l.fillHooks(root.Get("appspec").Get("Hooks")) })
		return
	}
	l.fillHooks(hooks)
}

// fillHooks reads the hooks of the AppSpec.
func (l *loader) fillHooks(hooks *definition.Node) {
	if hooks == nil {
		return
	}
	seen := map[string]bool{}
	for _, item := range hooks.Items {
		for _, e := range item.Entries {
			if seen[e.Key] {
				l.addProblem(l.src.AtKey(e, "%s has a hook already: CodeDeploy calls one function per lifecycle event",
					e.Key))
			}
			seen[e.Key] = true
			l.app.Hooks = append(l.app.Hooks, appspec.Hook{Event: e.Key, Function: values.Text(e.Value)})
		}
	}
}
