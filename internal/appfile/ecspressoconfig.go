package appfile

import (
	"cmp"
	"path"

	"github.com/sluice-ecs/sluice/internal/appfile/values"
	"github.com/sluice-ecs/sluice/internal/definition"
)

// ecspressoSentence describes the key ecspresso of a sluice.yaml.
const ecspressoSentence = "A configuration of ecspresso in the same folder, such as ecspresso.yml. Its Region, cluster, " +
	"service, definitions, lookups and CodeDeploy settings are used; this file adds the pipeline and all else."

// openEcspresso reads the configuration of ecspresso that a sluice.yaml names, and adds its lookups. Without the key it
// does nothing.
func (l *loader) openEcspresso(spec, input *definition.Node) {
	key := spec.Get("ecspresso")
	if values.Text(key) == "" {
		return
	}
	for _, name := range []string{"taskDefinitionFile", "serviceDefinitionFile"} {
		if n := input.Get(name); values.IsGiven(n) {
			p := l.src.At(n, "input.%s and ecspresso exclude each other: %s names the definitions", name, key.Text)
			p.Next = "remove one of the two keys"
			l.addProblem(p)
		}
	}
	switch {
	case path.Dir(path.Clean(key.Text)) != ".":
		p := l.src.At(key, "ecspresso: %s is not in the folder of this file", key.Text)
		p.Next = "move sluice.yaml beside the configuration of ecspresso"
		l.addProblem(p)
		return
	case l.from == nil:
		p := l.src.At(key, "%v", errOnlyCommandLine)
		p.Next = "use sluice deploy"
		l.addProblem(p)
		return
	}
	l.evaluator = l.from
	_, text := l.readNamed(key, key.Text, "ecspresso")
	if text == nil {
		return
	}
	config, err := definition.Parse(text.shown, text.data)
	if err != nil {
		l.others = append(l.others, err)
		return
	}
	config.HideSecrets()
	l.ecspresso = config
	l.inEcspresso(func(root *definition.Node) {
		c := &checker{src: config, format: Ecspresso}
		c.checkObject(root, specShape(Ecspresso), "")
		l.problems = append(l.problems, c.problems...)
		if !values.IsGiven(spec.Get("timeout")) {
			l.app.Timeout = values.SpanOr(root.Get("timeout"), l.app.Timeout)
		}
		l.openLookups(root)
	})
}

// openLookups adds the lookups of a configuration of ecspresso, and sets the Region unless it is known.
func (l *loader) openLookups(root *definition.Node) {
	if l.app.Region = cmp.Or(l.app.Region, values.Text(root.Get("region"))); l.app.Region == "" {
		l.app.Region, _ = l.evaluator.LookupEnv("AWS_REGION") // a file of --envfile may have it
	}
	l.loadPlugins(root.Get("plugins"))
}

// inEcspresso calls do with the configuration of ecspresso: problems are those of that file, and its definitions have
// templates, not the variables of a sluice.yaml.
func (l *loader) inEcspresso(do func(root *definition.Node)) {
	src, vars := l.src, l.vars
	l.src, l.vars = l.ecspresso, nil
	do(l.src.Root)
	l.src, l.vars = src, vars
}

// loadEcspressoDefinitions loads the definitions that a configuration of ecspresso names. The service definition says how
// callers reach the service, unless the file of sluice does.
func (l *loader) loadEcspressoDefinitions(root *definition.Node) {
	if name := root.Get("task_definition"); values.Text(name) != "" {
		l.loadTask(name, name.Text, "task_definition")
	}
	l.loadEcspressoService(root)
	l.compareDefinitions()
	if values.IsGiven(root.Get("required_version")) {
		l.app.Notes = append(l.app.Notes, "required_version is about ecspresso, and sluice does not check it")
	}
	l.ignoreTags(values.Texts(root.Get("ignore").Get("tags")))
	if !l.app.AccessGiven {
		l.implyAccess()
	}
}

// fillEcspressoCluster sets the cluster that a configuration of ecspresso or its service definition names.
func (l *loader) fillEcspressoCluster(root *definition.Node) {
	l.fillCluster(root.Get("cluster"))
	l.app.Cluster = cmp.Or(l.app.Cluster, "default")
}
