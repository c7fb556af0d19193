package view

import (
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
)

// WithCanaryOf returns the scope of a service whose files are not known, with the group of a task set beside the PRIMARY one
// as the test group.
func (s Scope) WithCanaryOf(sets []sluice.TaskSet) Scope {
	i := slices.IndexFunc(sets, func(ts sluice.TaskSet) bool { return ts.Status == "PRIMARY" })
	for _, ts := range sets {
		if i >= 0 && ts.Status == "ACTIVE" && ts.TargetGroup != "" && ts.TargetGroup != sets[i].TargetGroup {
			s.TestGroup, s.IsGuess = ts.TargetGroup, true
		}
	}
	return s
}

// leadsBeside reports whether a rule gives weight to a group of the service beside the test group.
func (t Traffic) leadsBeside(test string, rules []Route) bool {
	return slices.ContainsFunc(rules, func(r Route) bool {
		return slices.ContainsFunc(r.Forward, func(s sluice.Share) bool {
			_, own := t.group(s.Group)
			return own && s.Weight > 0 && s.Group != test
		})
	})
}

// forwardsToTestGroup reports whether a rule that neither the service nor its files name forwards to the test group alone.
func (s Scope) forwardsToTestGroup(r sluice.Rule) bool {
	return s.TestGroup != "" && len(r.Forward) == 1 && r.Forward[0].Group == s.TestGroup && !isOf(s.Rules, r)
}

// addTest adds a rule to the test rules if it forwards to the test group alone, and no rule in front of it gets all of its
// requests.
func (t *Traffic) addTest(s Scope, r Route, rules []Route) {
	if !s.forwardsToTestGroup(r.Rule) || isOf(s.TestRules, r.Rule) || r.Forward[0].Weight == 0 {
		return
	}
	if slices.ContainsFunc(alternatives(r.Conditions), func(a []Condition) bool { return firstFor(a, r, rules) == nil }) {
		t.Tests = append(t.Tests, r)
	}
}

// UsedTests returns the test rules whose group has a healthy target: their callers, if there are any, are served.
func (t Traffic) UsedTests() (all []Route) {
	for _, r := range t.Tests {
		if g, _ := t.group(r.Forward[0].Group); g.Healthy > 0 {
			all = append(all, r)
		}
	}
	return all
}

// usedTest reports whether callers of a test rule were served in this read. A read that is the first does not know.
func (t Traffic) usedTest(rule string) bool {
	return slices.ContainsFunc(t.UsedTests(), func(r Route) bool { return r.ARN == rule })
}

// NeedsTargets reports whether a decision depends on the targets of a group: a rule gives it weight, or it is that of a
// test rule whose callers were served in an earlier read, or may be served if this read is the first.
func (t Traffic) NeedsTargets(group string, before Traffic) bool {
	return t.HasWeight(group) || slices.ContainsFunc(t.Tests, func(r Route) bool {
		return r.Forward[0].Group == group && (!before.IsRead() || before.usedTest(r.ARN))
	})
}

// UnansweredTests describes the test rules whose callers were served in an earlier read, and whose group has no targets any
// more. next leads the first of them to the service. Both are empty if there is none.
func (t Traffic) UnansweredTests(before Traffic) (text, next string) {
	var all []string
	for _, r := range t.Tests {
		g, _ := t.group(r.Forward[0].Group)
		if !g.Read || g.Targets > 0 || !before.usedTest(r.ARN) {
			continue
		}
		if all = append(all, r.Subject()+" forwards only to "+sluice.TargetGroupName(g.ARN)+
			", the canary's group, which has no tasks: "+r.withoutTargets()); next == "" {
			next = r.ToPrimary()
		}
	}
	return strings.Join(all, "; "), next
}

// ToPrimary is the advice for a test rule whose callers should reach the service; empty: its command is not known.
func (r Route) ToPrimary() string {
	if r.Repair == "" {
		return ""
	}
	return "forward that rule to the group of the primary: " + r.Repair
}

// Subject names a rule by its requests: "rule 1 of port 80 (path /beta*)".
func (r Route) Subject() string {
	if len(r.Conditions) == 0 {
		return r.Name()
	}
	return r.Name() + " (" + describeConditions(r.Conditions) + ")"
}

// withoutTargets says what callers of a rule get if its group has no targets.
func (r Route) withoutTargets() string {
	if r.Protocol != "" {
		return "its connections are refused"
	}
	return "its requests get 503"
}
