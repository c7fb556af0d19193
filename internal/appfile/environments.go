package appfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice/internal/appfile/values"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/secret"
)

// mostTasks is a limit for desired counts in files: AWS's own quota is far below it.
const mostTasks = 100_000

// environmentKeys returns the keys of an environment: those of the file that may differ between environments.
func environmentKeys(all []key) (keys []key) {
	for _, k := range all {
		if k.treatment == Honoured && k.name != "name" {
			k.needed = false
			keys = append(keys, k)
		}
	}
	return keys
}

// checkNamed compares each value of a map of names with its shape.
func (c *checker) checkNamed(n *definition.Node, s shape, path string) {
	if !c.checkKind(n, definition.Map, path) {
		return
	}
	seen := map[string]bool{}
	for _, e := range n.Entries {
		at := joinPath(path, e.Key)
		if seen[e.Key] {
			c.addKeyProblem(e, "%s is given twice", at)
		}
		seen[e.Key] = true
		c.checkValue(e.Value, *s.of, at)
	}
}

// chooseEnvironment moves the keys of the environment that the caller has chosen to the root of the file, and returns the
// variables that the file gives. Keys that an environment cannot have stay where they are, and are problems there.
func (l *loader) chooseEnvironment(root *definition.Node) (given map[string]string) {
	environments := root.Get("environments")
	given = values.Map(root.Get("variables"))
	if given == nil {
		given = map[string]string{}
	}
	var names []string
	if environments != nil {
		for _, e := range environments.Entries {
			names = append(names, e.Key)
		}
	}
	chosen := environments.Get(l.environment)
	switch {
	case l.environment == "" && len(names) > 0:
		p := l.src.At(environments, "the file has the environments %s, and none is chosen", strings.Join(names, ", "))
		p.Next = "choose one, such as --env " + names[0]
		l.unchosen = p
		return given
	case l.environment == "":
		return given
	case chosen == nil || chosen.Kind != definition.Map:
		l.refuseEnvironment(names)
		return given
	}
	for name, value := range values.Map(chosen.Get("variables")) {
		given[name] = value
	}
	chosen.Entries = slices.DeleteFunc(chosen.Entries, func(e definition.Entry) (moves bool) {
		if moves = e.Key != "variables" && isEnvironmentKey(e.Key); moves {
			root.Entries = slices.DeleteFunc(root.Entries, func(x definition.Entry) bool { return x.Key == e.Key })
			root.Entries = append(root.Entries, e)
		}
		return moves
	})
	return given
}

// isEnvironmentKey reports whether an environment may have the key.
func isEnvironmentKey(name string) bool {
	for _, k := range specShape(Sluice).keys {
		if k.name == "environments" {
			return slices.ContainsFunc(k.shape.of.keys, func(k key) bool { return k.name == name })
		}
	}
	return false
}

// namesText returns the names of a file's environments for the end of a message, or "".
func namesText(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return " (it has " + strings.Join(names, ", ") + ")"
}

// refuseEnvironment sets the problem of an environment that the files do not have. It does not repeat a name with an
// equals sign: that is a value which was meant for another flag, perhaps a secret.
func (l *loader) refuseEnvironment(names []string) {
	name := l.environment
	if strings.Contains(name, "=") {
		name = "of that name"
	}
	p := l.src.At(cmp.Or(l.src.Root.Get("environments"), l.src.Root), "the file has no environment %s%s", name, namesText(names))
	p.Meant = definition.Nearest(l.environment, names)
	switch {
	case l.app.Format != Sluice || l.implied:
		p = l.src.At(l.src.Root, "only a sluice.yaml has environments, and --env names one")
		p.Next = "leave --env out"
	case len(names) == 0:
		if wrong := l.misspelledEnvironments(); wrong != nil {
			p = wrong
			break
		}
		p.Next = "leave --env out, or add the key environments"
	case p.Meant == "":
		p.Next = "choose one of " + strings.Join(names, ", ")
	}
	l.unchosen = p
}

// misspelledEnvironments returns the problem of a key that is misspelled for environments; nil: there is none.
func (l *loader) misspelledEnvironments() *definition.Problem {
	c := &checker{src: l.src, format: Sluice}
	for _, e := range l.src.Root.Entries {
		c.checkEntry(definition.Entry{Key: e.Key, Line: e.Line, Column: e.Column, Value: &definition.Node{}}, specShape(Sluice), "")
	}
	for _, p := range c.problems {
		if p.Meant == "environments" {
			return p
		}
	}
	return nil
}

// useVariables replaces the variables of the file, and keeps them for its definitions. Values with secret names are kept
// as secrets.
func (l *loader) useVariables(given map[string]string) {
	l.vars = func(name string) (value string, ok bool) {
		if l.from != nil {
			value, ok = l.from.Variable(name)
		}
		if !ok {
			value = given[name]
			ok = value != ""
		}
		if ok && secret.IsName(name) && !slices.Contains(l.app.Secrets, value) {
			l.app.Secrets = append(l.app.Secrets, value)
		}
		return value, ok
	}
	without := *l.src.Root
	without.Entries = slices.DeleteFunc(slices.Clone(without.Entries), func(e definition.Entry) bool {
		return e.Key == "environments" || e.Key == "variables"
	})
	at := *l.src
	at.Root = &without
	l.problems = append(l.problems, at.Interpolate(l.vars)...)
}

// fillCount sets the desired count that the application file gives.
func (l *loader) fillCount(n *definition.Node) {
	if !values.IsGiven(n) || l.app.Service == nil {
		return
	}
	count := int32(values.IntegerOr(n, 0))
	l.app.Service = l.app.Service.WithCount(count)
	l.app.Notes = append(l.app.Notes, fmt.Sprintf("desired count: %d (desiredCount of %s)", count, l.app.File))
}
