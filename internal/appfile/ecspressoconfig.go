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
	case path.Base(key.Text) != key.Text:
		p := l.src.At(key, "ecspresso: %s is not in the folder of this file", key.Text)
		p.Next = "move sluice.yaml beside the configuration of ecspresso"
		l.addProblem(p)
		return
	case l.from == nil:
		l.addProblem(l.src.At(key, "only the command line reads files of ecspresso"))
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
		if l.app.Region = cmp.Or(l.app.Region, values.Text(root.Get("region"))); l.app.Region == "" {
			l.app.Region, _ = l.evaluator.LookupEnv("AWS_REGION")
		}
		if !values.IsGiven(spec.Get("timeout")) {
			l.app.Timeout = values.SpanOr(root.Get("timeout"), l.app.Timeout)
		}
		l.loadPlugins(root.Get("plugins"))
	})
}

// inEcspresso calls do with the configuration of ecspresso: problems are those of that file, and its definitions have
// templates, not the variables of a sluice.yaml.
func (l *loader) inEcspresso(do func(root *definition.Node)) {
	src, vars := l.src, l.vars
	l.src, l.vars = l.ecspresso, nil
	do(l.src.Root)
	l.src, l.vars = src, vars
}

// configured returns a key of the configuration of ecspresso that the file names; nil: there is none.
func (l *loader) configured(key string) *definition.Node {
	if l.ecspresso == nil {
		return nil
	}
	return l.ecspresso.Root.Get(key)
}

// loadEcspressoDefinitions loads the definitions that a configuration of ecspresso names.
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
}
