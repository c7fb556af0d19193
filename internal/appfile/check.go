package appfile

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/internal/appfile/values"
	"github.com/sluice-ecs/sluice/internal/definition"
)

// checker compares a file with the tables and collects the problems.
type checker struct {
	src      *definition.Source
	format   Format
	problems []*definition.Problem
	piped    []string // paths of piped's own keys, in the order of the file
	unused   []string // paths of unused keys, in the order of the file
}

func (c *checker) addProblem(n *definition.Node, format string, args ...any) *definition.Problem {
	p := c.src.At(n, format, args...)
	c.problems = append(c.problems, p)
	return p
}

func (c *checker) addKeyProblem(e definition.Entry, format string, args ...any) *definition.Problem {
	p := c.src.AtKey(e, format, args...)
	c.problems = append(c.problems, p)
	return p
}

// checkValue compares a value with a shape. A missing value is no problem here.
func (c *checker) checkValue(n *definition.Node, s shape, path string) {
	if n.Kind == definition.Null || n.IsUnset() {
		return
	}
	switch s.kind {
	case object:
		c.checkObject(n, s, path)
	case list:
		c.checkList(n, s, path)
	case labels:
		c.checkLabels(n, path)
	case stages:
		c.checkStages(n, path)
	case plugins:
		c.checkPlugins(n, path)
	case named:
		c.checkNamed(n, s, path)
	case choice:
		c.checkChoice(n, s, path)
	case word:
		c.checkStepName(n, path)
	case request:
		c.checkKind(n, definition.Map, path)
	case text, flag:
		if c.checkKind(n, map[kind]definition.NodeKind{text: definition.Text, flag: definition.Bool}[s.kind], path) &&
			s.min > 0 && n.Text == "" {
			c.addProblem(n, "%s is empty", path)
		}
	case integer, percent, span, delay:
		c.checkMeasure(n, s, path)
	case number, ratio, fraction, signal, webAddress, secretPlace:
		c.checkGateValue(n, s, path)
	}
}

// checkKind refuses a node of another kind.
func (c *checker) checkKind(n *definition.Node, want definition.NodeKind, path string) bool {
	if n.Kind == want || want == definition.Bool && n.IsFlag() {
		return true
	}
	advice := ""
	if want == definition.Text && (n.Kind == definition.Number || n.Kind == definition.Bool) {
		advice = ": write it in quotes"
	}
	c.addProblem(n, "%s is %s, and this is %s%s", path, want, n.Kind, advice)
	return false
}

func (c *checker) checkObject(n *definition.Node, s shape, path string) {
	if !c.checkKind(n, definition.Map, orFile(path)) {
		return
	}
	seen := map[string]bool{}
	for _, e := range n.Entries {
		if seen[e.Key] {
			c.addKeyProblem(e, "%s is given twice", joinPath(path, e.Key))
			continue
		}
		seen[e.Key] = true
		c.checkEntry(e, s, path)
	}
	for _, k := range s.keys {
		if k.needed && !values.IsGiven(n.Get(k.name)) {
			c.addProblem(n, "%s has no %s", orFile(path), k.name).Lacks(n, k.name)
		}
	}
	c.refuseSynonyms(n, s)
	if s.one && len(n.Entries) != 1 || s.one && !values.IsGiven(n.Entries[0].Value) {
		c.addProblem(n, "%s must have exactly one entry", orFile(path))
	}
}

func orFile(path string) string {
	if path == "" {
		return "the file"
	}
	return path
}

// checkEntry compares one entry of an object with its key.
func (c *checker) checkEntry(e definition.Entry, s shape, path string) {
	at := joinPath(path, e.Key)
	i := slices.IndexFunc(s.keys, func(k key) bool { return k.name == e.Key })
	if i < 0 {
		c.refuseUnknownKey(e, s, path)
		return
	}
	k := s.keys[i]
	switch k.treatment {
	case Refused:
		c.addKeyProblem(e, "%s is refused. %s", at, k.sentence)
		return
	case PipedsOwn:
		c.piped = append(c.piped, at)
	case Unused:
		c.unused = append(c.unused, at)
	}
	c.checkValue(e.Value, k.shape, at)
}

// refuseUnknownKey refuses a key. It suggests a similar key or the place where the key belongs.
func (c *checker) refuseUnknownKey(e definition.Entry, s shape, path string) {
	var names []string
	for _, k := range s.keys {
		if k.treatment != Refused && k.treatment != Unused {
			names = append(names, k.name)
		}
	}
	p := c.addKeyProblem(e, "unknown key %q in %s", e.Key, orFile(path))
	if of := definition.HomeOf(e.Key); of != "" && c.format == Sluice && path == "" {
		p.Message += ": it belongs in " + of
		return
	}
	if stage, isOption := strings.CutSuffix(path, ".with"); isOption && hasKey(entryShape(c.format), e.Key) {
		p.Message += ": it belongs beside with, in " + stage
		return
	}
	home := c.findHome(e.Key)
	if at, isPlugins := strings.CutSuffix(home, pluginPath); isPlugins {
		home = at + "plugins." + c.pluginName()
		p.Next = "move it under " + home + "; or set kind: ECSApp, if the file is for PipeCD v0"
		p.StandsFor("plugins")
	}
	if home = strings.Replace(home, pluginPath, "plugins."+c.pluginName(), 1); home != "" {
		p.Message += ": it belongs under " + home
		return
	}
	p.Meant = definition.Nearest(e.Key, names)
}

// hasKey reports whether a shape has a key that a file may give.
func hasKey(s shape, name string) bool {
	return slices.ContainsFunc(s.keys, func(k key) bool { return k.name == name && k.treatment != Refused })
}

// findHome returns another place where a key of this name belongs, if there is exactly one.
func (c *checker) findHome(name string) string {
	root, home := "spec", ""
	if c.format == Sluice || c.format == Ecspresso {
		root = ""
	}
	for _, k := range keysOf(specShape(c.format), root, c.format) {
		at, ok := strings.CutSuffix(k.Path, "."+name)
		if strings.HasSuffix(at, "before[]") || strings.HasSuffix(at, "after[]") {
			continue // most of their keys belong to another place too
		}
		if k.Path == name {
			at, ok = "the top of the file", true
		}
		if !ok || k.Treatment == Refused || k.Treatment == Unused {
			continue
		}
		if home != "" {
			return ""
		}
		home = at
	}
	return home
}

// refuseSynonyms refuses two keys with the same meaning.
func (c *checker) refuseSynonyms(n *definition.Node, s shape) {
	var found []definition.Entry
	for _, e := range n.Entries {
		if slices.Contains(s.single, e.Key) && values.IsGiven(e.Value) {
			found = append(found, e)
		}
	}
	if len(found) > 1 {
		c.addKeyProblem(found[1], "%s and %s are two names of one key: set only one", found[0].Key, found[1].Key)
	}
}

func (c *checker) checkList(n *definition.Node, s shape, path string) {
	if !c.checkKind(n, definition.List, path) {
		return
	}
	for _, item := range n.Items {
		if item.Kind == definition.Null {
			c.addProblem(item, "%s: an entry of the list is empty", path)
			continue
		}
		c.checkValue(item, *s.of, path+"[]")
	}
}

func (c *checker) checkLabels(n *definition.Node, path string) {
	if !c.checkKind(n, definition.Map, path) {
		return
	}
	seen := map[string]bool{}
	for _, e := range n.Entries {
		if seen[e.Key] {
			c.addKeyProblem(e, "%s is given twice", joinPath(path, e.Key))
		}
		seen[e.Key] = true
		c.checkKind(e.Value, definition.Text, joinPath(path, e.Key))
	}
}

func (c *checker) checkChoice(n *definition.Node, s shape, path string) {
	meant := definition.SwitchWord(n, s.words)
	if meant == "" && !c.checkKind(n, definition.Text, path) || slices.Contains(s.words, n.Text) {
		return
	}
	for _, r := range s.refused {
		if r.word == n.Text {
			c.addProblem(n, "%s cannot be %s: %s", path, n.Text, r.sentence)
			return
		}
	}
	p := c.src.At(n, "%s cannot be %q: use one of %s", path, n.Text, strings.Join(s.words, ", "))
	p.Meant = cmp.Or(meant, definition.Nearest(n.Text, s.words))
	c.problems = append(c.problems, p)
}

// valueText describes a value that is refused. Where only a number is allowed, one in quotes is text, which is why.
func valueText(n *definition.Node, of kind) string {
	switch {
	case n.Kind == definition.Map, n.Kind == definition.List:
		return n.Kind.String()
	case n.Kind == definition.Text && slices.Contains([]kind{integer, number, ratio}, of):
		return "text: " + strconv.Quote(n.Text)
	}
	return n.Text
}

// checkMeasure compares a number, a share or a duration with its range.
func (c *checker) checkMeasure(n *definition.Node, s shape, path string) {
	ok, want := false, ""
	switch s.kind {
	case integer:
		i, isInt := n.Int()
		ok, want = isInt && i >= s.min && i <= s.max, fmt.Sprintf("a whole number from %d to %d", s.min, s.max)
	case percent:
		i, isShare := values.Percent(n)
		ok = isShare && int64(i) >= s.min && int64(i) <= s.max
		want = fmt.Sprintf("a whole percentage from %d to %d, written 10 or \"10%%\"", s.min, s.max)
	case span:
		_, ok = values.Span(n)
		want = `a duration above zero, such as "90s", "10m" or "1h30m"`
	case delay:
		d, isTime := values.Delay(n)
		low, high := time.Duration(s.min)*time.Second, time.Duration(s.max)*time.Second
		ok, want = isTime && d >= low && d <= high, fmt.Sprintf("a duration from %s to %s", low, high)
	}
	if ok {
		return
	}
	message := fmt.Sprintf("%s is %s, and this is %s", path, want, valueText(n, s.kind))
	if s.remark != "" {
		message += " (" + s.remark + ")"
	}
	c.addProblem(n, "%s", message)
}
