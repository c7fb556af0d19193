package appfile

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile/locate"
	"github.com/sluice-ecs/sluice/internal/appfile/values"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/validate"
)

// loadDefinitions loads the definition files that input names.
func (l *loader) loadDefinitions(spec, input *definition.Node) {
	if l.ecspresso != nil {
		l.inEcspresso(l.loadEcspressoDefinitions)
		return
	}
	if values.IsGiven(spec.Get("ecspresso")) {
		return // why it cannot be read is reported
	}
	place := spec
	for _, inner := range []*definition.Node{pluginOf(spec), input} {
		if values.IsGiven(inner) {
			place = inner
		}
	}
	if name := input.Get("taskDefinitionFile"); values.Text(name) != "" {
		l.loadTask(name, name.Text, "taskDefinitionFile")
	} else {
		l.loadTask(place, locate.TaskFile, "taskDefinitionFile is not given")
	}
	if name := input.Get("serviceDefinitionFile"); values.Text(name) != "" {
		l.loadService(name, name.Text, "serviceDefinitionFile")
	}
	l.compareDefinitions()
}

// compareDefinitions refuses definitions that do not fit together.
func (l *loader) compareDefinitions() {
	if task, service := l.app.Task, l.app.Service; task != nil && service != nil {
		l.others = append(l.others, definition.JoinProblems(validate.CompareTogether(task, service)))
	}
}

func (l *loader) loadTask(at *definition.Node, name, what string) {
	l.app.Task, l.taskText = l.decodeTask(at, name, what)
}

// decodeTask returns a task definition, or nil with a problem, and its text.
func (l *loader) decodeTask(at *definition.Node, name, what string) (*definition.Task, *evaluatedText) {
	file, text := l.readNamed(at, name, what)
	if text == nil {
		return nil, nil
	}
	task, err := validate.LoadTask(text.shown, text.data, l.vars)
	if err != nil {
		l.others = append(l.others, err)
	}
	if task != nil {
		task.File = file
	}
	return task, text
}

func (l *loader) loadService(at *definition.Node, name, what string) {
	l.app.Service, l.serviceText = l.decodeService(at, name, what)
	if service := l.app.Service; service != nil && service.Input.TaskDefinition != nil {
		l.app.Notes = append(l.app.Notes, fmt.Sprintf(
			"taskDefinition in %s is not used: the task definition of the files is deployed", l.serviceText.shown))
	}
}

// decodeService returns a service definition, or nil with a problem, and its text.
func (l *loader) decodeService(at *definition.Node, name, what string) (*definition.Service, *evaluatedText) {
	file, text := l.readNamed(at, name, what)
	if text == nil {
		return nil, nil
	}
	service, err := validate.LoadNamedService(text.shown, text.data, l.serviceName, l.vars)
	if err != nil {
		l.others = append(l.others, err)
	}
	if service != nil {
		service.File = file
		if service.CountOfService && l.app.Format != Sluice {
			l.addProblem(l.src.At(at, "%s: desiredCount: %s is only for services of a sluice.yaml", what,
				definition.FromService))
		}
	}
	return service, text
}

// checkTargetGroups refuses a target group without an ARN, or whose container or port the task
// definition does not have. AWS would refuse it only at CreateTaskSet, after the revision is registered.
func (l *loader) checkTargetGroups(list *definition.Node) {
	if l.app.Task == nil {
		return
	}
	for _, n := range []*definition.Node{list.Get("primary"), list.Get("canary")} {
		if p := validate.CheckGroupARN(l.src, n.Get("targetGroupArn")); p != nil {
			l.addProblem(p)
		}
		name, port := n.Get("containerName"), n.Get("containerPort")
		if values.Text(name) == "" {
			continue
		}
		if p := validate.MissingTarget(l.src, l.app.Task, n, name.Text, values.IntegerOr(port, 0)); p != nil {
			l.addProblem(p)
		}
	}
}

// checkListenerRules refuses what is not the ARN of a rule. AWS would refuse it as a value of a read, without its line.
func (l *loader) checkListenerRules(list *definition.Node) {
	if l.app.Task == nil || list == nil {
		return
	}
	for _, n := range list.Items {
		if p := validate.CheckRuleARN(l.src, n); p != nil {
			l.addProblem(p)
		}
	}
}

// nearFile returns the name of the file in the same folder that was probably meant, or "".
func (l *loader) nearFile(file string) string {
	if l.root != nil {
		return ""
	}
	entries, err := fs.ReadDir(l.fsys, path.Dir(file))
	if err != nil {
		return ""
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() && e.Name() != path.Base(l.app.File) {
			names = append(names, e.Name())
		}
	}
	return definition.Nearest(path.Base(file), names)
}

// readNamed reads a file that the application file names, and evaluates it if the format says so. It
// reports a problem at the key that names the file, and returns no text.
func (l *loader) readNamed(at *definition.Node, name, what string) (file string, text *evaluatedText) {
	file, data, err := l.readDefinition(name)
	var refused *sluice.Error
	if errors.As(err, &refused) {
		p := l.src.At(at, "%s: %v", what, refused.Err)
		p.Next = refused.Next
		l.addProblem(p)
		return "", nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		p := l.src.At(at, "%s: there is no file %s", strings.TrimSuffix(what, ":"), file)
		switch near := l.nearFile(file); {
		case near != "" && strings.HasSuffix(what, " is not given"):
			p.Next = "set " + strings.TrimSuffix(what, " is not given") + " to " + near
		case near != "":
			p.Meant = path.Join(path.Dir(name), near)
		}
		if at.Kind == definition.Map { // no key names the file
			p.Lacks(at, "plugins", "input", "taskDefinitionFile")
		}
		l.addProblem(p)
		return "", nil
	}
	if err != nil {
		l.addProblem(l.src.At(at, "%s: %s: %v", what, file, locate.WithoutPath(err)))
		return "", nil
	}
	if l.isJsonnet(file) && l.from == nil {
		p := l.src.At(at, "%s: %s: only the command line evaluates Jsonnet", what, file)
		p.Next = "name a file of JSON or YAML"
		l.addProblem(p)
		return "", nil
	}
	shown, data, err := l.renderDefinition(file, name, data)
	if err != nil {
		l.others = append(l.others, err)
		return "", nil
	}
	return file, &evaluatedText{shown, data, l.vars}
}

// isJsonnet reports whether a definition that a sluice.yaml names is Jsonnet. PipeCD reads JSON and YAML only.
func (l *loader) isJsonnet(file string) bool {
	return l.evaluator == nil && l.app.Format == Sluice && path.Ext(file) == ".jsonnet"
}

// renderDefinition evaluates a definition, which the application file names, if its format says so. A sluice.yaml has
// variables instead of templates.
func (l *loader) renderDefinition(file, name string, data []byte) (shown string, text []byte, err error) {
	switch {
	case !l.isJsonnet(file):
		return l.render(file, data)
	case l.root == nil:
		return l.from.EvaluateJsonnet(l.fsys, file, data)
	}
	return l.from.EvaluateJsonnet(l.root.files, path.Join(l.root.folder, name), data)
}

// fillClusterOf sets the cluster of the file, or of the configuration of ecspresso that it names.
func (l *loader) fillClusterOf(spec *definition.Node) {
	if key := spec.Get("cluster"); l.ecspresso == nil || values.IsGiven(key) {
		l.fillCluster(key)
		return
	}
	l.inEcspresso(l.fillEcspressoCluster)
}

// fillCluster sets the cluster. The application file and the service definition must name the same
// cluster, and each supplies it if the other omits it.
func (l *loader) fillCluster(key *definition.Node) {
	app := l.app
	app.Cluster = values.Text(key)
	if app.Service == nil {
		if app.Cluster == "" {
			app.Cluster = app.Standalone.ClusterARN
		}
		return
	}
	named := app.Service.Input.Cluster
	switch {
	case named == nil && app.Cluster != "":
		app.Service.SetCluster(app.Cluster)
	case named == nil:
	case app.Cluster == "":
		app.Cluster = *named
	case clusterName(app.Cluster) != clusterName(*named):
		place := cmp.Or(firstOf(findTextsIn(app.Service.Text.Source, func(t namedText) bool {
			return (t.key == "cluster" || t.key == "clusterArn") && t.text == *named
		})), app.Service.File)
		p := l.src.At(key, "cluster is %s, but %s has %s", app.Cluster, place, *named)
		p.Next = "name one cluster in both, or remove it from " + place
		l.addProblem(p)
	}
}

// clusterName returns the name in a cluster's ARN, or the name itself.
func clusterName(s string) string {
	if _, name, ok := strings.Cut(s, ":cluster/"); ok {
		return name
	}
	return s
}
