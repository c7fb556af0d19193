package appfile

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile/locate"
	"github.com/sluice-ecs/sluice/internal/appfile/values"
	"github.com/sluice-ecs/sluice/internal/definition"
)

// ecspressoTimeout is the timeout of a configuration of ecspresso that gives none.
const ecspressoTimeout = 10 * time.Minute

// ecspressoKeys returns the keys of ecspresso's configuration.
func ecspressoKeys() []key {
	return []key{
		honouredKey("region", shape{kind: text}, "The AWS Region. --region overrides it."),
		honouredKey("cluster", shape{kind: text},
			"The cluster, by name or ARN. Default: that of the service definition, otherwise default."),
		honouredKey("service", shape{kind: text, min: 1}, "The service. It is the serviceName of the service definition. "+
			"Without it, the file is for tasks only."),
		neededKey("task_definition", shape{kind: text, min: 1}, "The file of the task definition: JSON, YAML or Jsonnet, with "+
			"template functions."),
		honouredKey("service_definition", shape{kind: text, min: 1}, "The file of the service definition."),
		honouredKey("timeout", shape{kind: span, remark: "a bare number means nanoseconds in ecspresso 2 and seconds in " +
			"ecspresso 3: add the unit"}, "The maximum duration of a deployment. Default: 10m."),
		honouredKey("codedeploy", shape{kind: object, keys: []key{
			honouredKey("application_name", shape{kind: text}, "As applicationName in sluice.yaml."),
			honouredKey("deployment_group_name", shape{kind: text}, "As deploymentGroupName in sluice.yaml."),
			honouredKey("deployment_config_name", shape{kind: text}, "As deploymentConfigName in sluice.yaml."),
		}}, "The CodeDeploy settings of a service with deployment controller CODE_DEPLOY."),
		honouredKey("appspec", shape{kind: object, keys: []key{
			honouredKey("Hooks", shape{kind: list, of: hookShape()}, "Lambda functions that CodeDeploy calls."),
		}}, "Fields of the AppSpec in addition to the definitions."),
		honouredKey("ignore", shape{kind: object, keys: []key{
			honouredKey("tags", shape{kind: list, of: &shape{kind: text}}, "Keys of tags that sluice neither compares "+
				"nor writes."),
		}}, "What a deployment leaves alone."),
		honouredKey("required_version", shape{kind: text}, "A condition on the version of ecspresso. sluice does not "+
			"check it, and says so."),
		honouredKey("plugins", shape{kind: list, of: &shape{kind: object, keys: pluginKeys()}}, "The lookups of the "+
			"definitions. ssm and secretsmanager work without a plugin."),
		refusedKey("express_definition", "sluice does not deploy Express Mode services."),
		refusedKey("filter_command", "sluice starts no program to select a task: remove the key."),
	}
}

// fillEcspresso reads the values of a checked configuration of ecspresso, as [loader.fillApplication] does for
// the other formats.
func (l *loader) fillEcspresso(root *definition.Node) {
	app := l.app
	app.Timeout, app.ProgressDeadline = values.SpanOr(root.Get("timeout"), ecspressoTimeout), defaultProgressTime
	app.ProgressDeadline = min(app.ProgressDeadline, app.Timeout)
	app.OnOutsideChange, app.OnOtherTargets = defaultOnOutside, defaultOnTargets
	app.OnUnhealthyRoute = sluice.StopOnRoute
	app.Scaling.KeepSuspended = true // as with ecspresso, only --resume-auto-scaling ends what --no-wait leaves
	app.Standalone = standaloneOf(nil, app.Format)
	app.Standalone.Run = false // a deployment registers the task definition; sluice run runs it
	l.fillStandaloneRun(nil)
	app.CodeDeploy = codeDeployOfEcspresso(root.Get("codedeploy"))
	l.fillHooks(root.Get("appspec").Get("Hooks"))

	l.openLookups(root)
	l.loadEcspressoDefinitions(root)
	l.fillEcspressoCluster(root)
}

func codeDeployOfEcspresso(of *definition.Node) CodeDeploy {
	return CodeDeploy{Application: values.Text(of.Get("application_name")),
		Group: values.Text(of.Get("deployment_group_name")), Config: values.Text(of.Get("deployment_config_name"))}
}

// pluginNames returns the plugins that sluice has: AddPlugin of the [Evaluator] adds all but tfstate.
func pluginNames() []string { return []string{"tfstate", "ssm", "secretsmanager", "cloudformation"} }

// pluginKeys returns the keys of a plugin.
func pluginKeys() []key {
	return []key{
		neededKey("name", shape{kind: text, min: 1}, "tfstate, ssm, secretsmanager or "+
			"cloudformation. Others are refused."),
		honouredKey("func_prefix", shape{kind: text}, "What the names of its functions begin with."),
		honouredKey("config", shape{kind: object, keys: []key{
			honouredKey("path", shape{kind: text, min: 1}, "The file of the Terraform state, inside the folder."),
			honouredKey("url", shape{kind: text, min: 1}, "A path, or a URL with file, s3 or https. "+
				"Others are refused."),
			honouredKey("optional", shape{kind: flag}, "A state that does not exist has no values."),
		}}, "Its settings."),
	}
}

// maxState is the maximum size of a Terraform state in bytes.
const maxState = 64 << 20

// loadPlugins adds the lookups to the evaluator of the definitions.
func (l *loader) loadPlugins(plugins *definition.Node) {
	l.evaluator.StartPlugins(l.app.Region)
	if plugins == nil || plugins.Kind != definition.List {
		return
	}
	for _, p := range plugins.Items {
		if name := p.Get("name"); values.Text(name) != "" { // otherwise reported by the check of the keys
			l.loadPlugin(p, name)
		}
	}
}

// loadPlugin adds the lookups of a plugin. Those of a misspelled one are added too: that they lack is no other problem.
func (l *loader) loadPlugin(p, name *definition.Node) {
	known := name.Text
	if !slices.Contains(pluginNames(), known) {
		problem := l.src.At(name, "the plugin %s is not supported", known)
		if known = definition.Nearest(known, pluginNames()); known == "" {
			problem.Next = "set environment variables to the values, and read them with must_env in the definitions"
		}
		problem.Meant = known
		l.addProblem(problem)
	}
	switch known {
	case "":
	case "tfstate":
		l.loadState(p)
	default:
		l.evaluator.AddPlugin(known, values.Text(p.Get("func_prefix")))
	}
}

// loadState reads a Terraform state for the functions tfstate and tfstatef.
func (l *loader) loadState(plugin *definition.Node) {
	at := plugin.Get("config").Get("path")
	if !values.IsGiven(at) {
		at = plugin.Get("config").Get("url")
	}
	if !values.IsGiven(at) {
		p := l.src.At(plugin, "the plugin tfstate has neither config.path nor config.url")
		l.addProblem(p.LacksIn(plugin, "config", "path", "url"))
		return
	}
	data, name, ok := l.readState(at, values.FlagOr(plugin.Get("config").Get("optional"), false))
	if !ok {
		return
	}
	if err := l.evaluator.AddState(values.Text(plugin.Get("func_prefix")), data); err != nil {
		l.addProblem(l.src.At(at, "%s: %v", name, err))
	}
}

// readState returns the text of a state and its name, and reports a problem if it cannot be read. An optional state
// that does not exist is empty.
func (l *loader) readState(at *definition.Node, isOptional bool) (data []byte, name string, ok bool) {
	scheme, _, _ := strings.Cut(at.Text, "://")
	var err error
	name = at.Text
	next := "run terraform state pull > terraform.tfstate in the folder, and name that file"
	if scheme == "s3" || scheme == "https" {
		data, err = l.evaluator.ReadState(at.Text)
		next = cmp.Or(sluice.NextStep(err), next)
	} else if name, err = l.stateFile(at.Text); err == nil {
		data, err = l.readFile(name)
	} else {
		name = at.Text
	}
	switch {
	case isOptional && (errors.Is(err, fs.ErrNotExist) || sluice.KindOf(err) == sluice.NotFound):
		return []byte(`{"version": 4}`), name, true
	case err != nil:
		problem := l.src.At(at, "%s: %v", name, locate.WithoutPath(err))
		problem.Next = next
		l.addProblem(problem)
		return nil, "", false
	case len(data) > maxState:
		l.addProblem(l.src.At(at, "%s has %d bytes, and the limit is %d", name, len(data), maxState))
		return nil, "", false
	}
	return data, name, true
}

// stateFile returns the file of a state in the folder of the configuration.
func (l *loader) stateFile(at string) (string, error) {
	if scheme, rest, isURL := strings.Cut(at, "://"); isURL {
		if scheme != "file" {
			return "", fmt.Errorf("sluice does not read a state by %s", scheme)
		}
		at = rest
	}
	file, ok := locate.NamedBy(l.fsys, l.app.File, at)
	if !ok {
		return "", errors.New("it is outside the folder of the configuration")
	}
	return file, nil
}

// loadEcspressoService loads the service definition, whose name is that of the configuration.
func (l *loader) loadEcspressoService(root *definition.Node) {
	service, file := root.Get("service"), root.Get("service_definition")
	switch {
	case values.Text(file) == "" && values.Text(service) == "":
		return
	case values.Text(file) == "":
		p := l.src.At(service, "service is %s, but the file has no service_definition", service.Text)
		l.addProblem(p.Lacks(root, "service_definition"))
		return
	case values.Text(service) == "":
		l.loadPlacement(file)
		return
	}
	l.serviceName = service.Text
	l.loadService(file, file.Text, "service_definition")
	if l.app.Service == nil {
		return
	}
	if in := l.app.Service.Input; aws.ToString(in.ServiceName) != service.Text {
		l.addProblem(l.src.At(service, "service is %s, but %s has serviceName %s", service.Text, l.app.Service.File,
			aws.ToString(in.ServiceName)))
	}
}

// placementName stands for the name of a service definition that no service has. AWS does not get it.
const placementName = "run"

// loadPlacement reads a service definition that no service has: sluice run starts tasks in its network.
func (l *loader) loadPlacement(file *definition.Node) {
	l.serviceName = placementName
	service, text := l.decodeService(file, file.Text, "service_definition")
	l.serviceText = text
	if service == nil {
		return
	}
	in, to := service.Input, &l.app.Standalone
	to.LaunchType, to.ClusterARN = "", aws.ToString(in.Cluster)
	to.RunTask.Input.NetworkConfiguration, to.RunTask.Input.PlatformVersion = in.NetworkConfiguration, in.PlatformVersion
	to.RunTask.Input.LaunchType, to.RunTask.Input.CapacityProviderStrategy = in.LaunchType, in.CapacityProviderStrategy
	l.app.Notes = append(l.app.Notes, fmt.Sprintf("the file names no service: only sluice run uses %s, to place tasks",
		text.shown))
}

// ignoreTags removes tags from the definitions: they are neither compared nor written.
func (l *loader) ignoreTags(keys []string) {
	kept := func(tags []ecstypes.Tag) []ecstypes.Tag {
		return slices.DeleteFunc(tags, func(t ecstypes.Tag) bool { return slices.Contains(keys, aws.ToString(t.Key)) })
	}
	if len(keys) == 0 {
		return
	}
	if l.app.Task != nil {
		l.app.Task.Input.Tags, l.app.Task.IgnoredTags = kept(l.app.Task.Input.Tags), keys
	}
	if l.app.Service != nil {
		l.app.Service.Input.Tags, l.app.Service.IgnoredTags = kept(l.app.Service.Input.Tags), keys
	}
}

// render evaluates a file of a format whose files are programs. It returns the files of other formats as
// they are, with the name under which their problems are reported.
func (l *loader) render(file string, data []byte) (string, []byte, error) {
	if l.evaluator == nil {
		return file, data, nil
	}
	return l.evaluator.Evaluate(l.fsys, file, data)
}
