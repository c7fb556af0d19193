package appfile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile/values"
	"github.com/sluice-ecs/sluice/internal/definition"
)

// checkStages compares the stages of a pipeline with the table of stages.
func (c *checker) checkStages(n *definition.Node, path string) {
	if !c.checkKind(n, definition.List, path) {
		return
	}
	for i, item := range n.Items {
		at := fmt.Sprintf("%s[%d]", path, i)
		if item.Kind == definition.Null {
			c.addProblem(item, "%s is empty", at)
			continue
		}
		c.checkObject(item, entryShape(c.format), at)
		if name := item.Get("name"); values.IsGiven(name) && name.Kind == definition.Text {
			c.checkStage(item, name, at)
		}
	}
}

// checkStage compares the options of one stage with its kind.
func (c *checker) checkStage(item, name *definition.Node, path string) {
	st, ok := stageNamed(c.format, name.Text)
	switch {
	case !ok:
		c.refuseUnknownStage(name)
		return
	case st.treatment == Refused:
		c.addProblem(name, "stage %s is refused. %s", name.Text, st.sentence)
		return
	}
	with := item.Get("with")
	if values.IsGiven(with) {
		c.checkValue(with, st.withShape(), path+".with")
	} else if st.needsWith() {
		for _, k := range st.with {
			if k.needed {
				p := c.addProblem(item, "%s (%s) has no with.%s%s", path, st.name, k.name, remarkText(k.shape.remark))
				p.Lacks(item, "with")
			}
		}
		return
	}
	c.refuseTwoTimeouts(item, with, path)
	c.checkStageOptions(st.name, item, with, path)
}

func remarkText(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

func (c *checker) refuseUnknownStage(name *definition.Node) {
	names := pipelineStagesOf(c.format)
	p := c.src.At(name, "unknown stage %q: use one of %s", name.Text, strings.Join(names, ", "))
	p.Meant = definition.Nearest(name.Text, names)
	c.problems = append(c.problems, p)
}

// refuseTwoTimeouts refuses a timeout of the stage together with a timeout in its options.
func (c *checker) refuseTwoTimeouts(item, with *definition.Node, path string) {
	if inner := with.Get("timeout"); values.IsGiven(inner) && values.IsGiven(item.Get("timeout")) {
		c.addProblem(inner, "%s.timeout is given twice, here and in the stage: remove one", path)
	}
}

// checkStageOptions checks options that depend on each other.
func (c *checker) checkStageOptions(name string, item, with *definition.Node, path string) {
	switch name {
	case StageWait, StageAnalysis:
		c.checkWaitTimeout(item, with, path)
	case StageTrafficRouting:
		c.checkShares(item, with, path)
	case StageApproval:
		who, least := values.Texts(with.Get("approvers")), values.IntegerOr(with.Get("minApproverNum"), 1)
		if len(who) > 0 && int64(len(who)) < least {
			c.addProblem(with.Get("minApproverNum"), "%s.with.minApproverNum is %d, but approvers names only %d", path,
				least, len(who))
		}
	}
}

// checkWaitTimeout refuses a timeout that is shorter than the time that the stage waits.
func (c *checker) checkWaitTimeout(item, with *definition.Node, path string) {
	limit, duration := item.Get("timeout"), values.SpanOr(with.Get("duration"), 0)
	if !values.IsGiven(limit) {
		limit = with.Get("timeout")
	}
	if most := values.SpanOr(limit, 0); values.IsGiven(limit) && most > 0 && most < duration {
		c.addProblem(limit, "%s: the timeout is %s, and the stage waits for %s: raise the timeout", path,
			sluice.Duration(most), sluice.Duration(duration))
	}
}

func (c *checker) checkShares(item, with *definition.Node, path string) {
	primary, canary := with.Get("primary"), with.Get("canary")
	switch {
	case !values.IsGiven(primary) && !values.IsGiven(canary):
		c.addProblem(item, "%s (%s) has neither with.primary nor with.canary (PipeCD uses primary 100, canary 0)", path,
			StageTrafficRouting).LacksIn(item, "with", "primary", "canary")
	case values.IsGiven(primary) && values.IsGiven(canary):
		p, pok := values.Percent(primary)
		k, kok := values.Percent(canary)
		if pok && kok && p <= 100 && k <= 100 && p+k != 100 {
			c.addProblem(canary, "%s.with: primary %d and canary %d sum to %d, not to 100 (PipeCD uses one of them "+
				"and ignores the other)", path, p, k, p+k)
		}
	}
}

// weightsOf returns the weights that a traffic routing requests; false if the file is wrong there.
func weightsOf(with *definition.Node) (sluice.Weights, bool) {
	canary, ok := values.Percent(with.Get("canary"))
	if !ok {
		primary, given := values.Percent(with.Get("primary"))
		canary, ok = 100-primary, given
	}
	w, err := sluice.NewWeights(100-canary, canary)
	return w, ok && err == nil
}

// checkPlugins compares the plugin's part with its shape. The part is the entry named ecs, or the
// only entry.
func (c *checker) checkPlugins(n *definition.Node, path string) {
	if !c.checkKind(n, definition.Map, path) {
		return
	}
	seen := map[string]bool{}
	for _, e := range n.Entries {
		if seen[e.Key] {
			c.addKeyProblem(e, "%s.%s is given twice", path, e.Key)
		}
		seen[e.Key] = true
	}
	e, ok := ecsPlugin(n)
	for _, other := range n.Entries {
		if ok && other.Key != e.Key {
			c.piped = append(c.piped, path+"."+other.Key)
		}
	}
	if !ok && len(n.Entries) == 1 {
		p := c.addKeyProblem(n.Entries[0], "%s.%[2]s is the section of PipeCD's plugin %[2]s, and the one of Amazon ECS is ecs", path,
			n.Entries[0].Key)
		p.Next = "rename the section to ecs"
		return
	}
	if !ok {
		c.addProblem(n, "%s has %d entries and none is named ecs: rename the entry of "+
			"the ECS plugin to ecs", path, len(n.Entries))
		return
	}
	c.checkValue(e.Value, pluginShape(), path+"."+e.Key)
}

func ecsPlugin(n *definition.Node) (definition.Entry, bool) {
	for _, e := range n.Entries {
		if e.Key == "ecs" {
			return e, true
		}
	}
	if len(n.Entries) == 1 && !slices.Contains(otherPlugins(), n.Entries[0].Key) {
		return n.Entries[0], true
	}
	return definition.Entry{}, false
}

// otherPlugins returns the names of PipeCD v1's other plugins.
func otherPlugins() []string {
	return []string{"analysis", "cloudrun", "kubernetes", "kubernetes_multicluster", "lambda", "scriptrun", "terraform", "wait",
		"waitapproval"}
}

// pluginName returns the name of the section of ECS in a file of PipeCD v1.
func (c *checker) pluginName() string {
	if n := c.src.Root.Get("spec").Get("plugins"); n != nil {
		if e, ok := ecsPlugin(n); ok {
			return e.Key
		}
	}
	return "ecs"
}
