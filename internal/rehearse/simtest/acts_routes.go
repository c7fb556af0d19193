package simtest

import (
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// forwardElsewhere sends the requests of a rule to the group of another service.
func (f *simulation) forwardElsewhere(tx *world.Tx, r *world.Rule) {
	for _, g := range tx.TargetGroups.Values() {
		if g.Name == "others" {
			tx.SetActions(r, []world.Action{{Type: "forward", Forward: &world.Forward{
				Groups: []world.Share{{Group: g.ARN, Weight: 1}}}}})
			return
		}
	}
}

// answerFixed replaces the actions of a rule by a fixed response, as for maintenance.
func answerFixed(tx *world.Tx, r *world.Rule) {
	tx.SetActions(r, maintenance())
}

// maintenance returns the actions of a rule that answers by itself.
func maintenance() []world.Action {
	return []world.Action{{Type: "fixed-response", Fixed: &world.Fixed{Status: 503, ContentType: "text/plain"}}}
}

// putInFront adds a rule that answers all requests of a listener by itself, in front of its other rules.
func putInFront(tx *world.Tx, r *world.Rule) {
	if r.Listener.Rules[0].Priority == 1 { // it is there already
		return
	}
	tx.AddRule(&world.Rule{ARN: strings.Replace(r.Listener.ARN, ":listener/", ":listener-rule/", 1) + "/" +
		tx.NewHex("rule", 16), Listener: r.Listener, Priority: 1,
		Conditions: []world.Condition{{Field: "path-pattern", Values: []string{"/*"}}},
		Actions:    maintenance()})
}

// changePath gives a rule a path that no caller requests.
func changePath(tx *world.Tx, r *world.Rule) {
	if r.Priority == 0 {
		putInFront(tx, r)
		return
	}
	tx.SetConditions(r, []world.Condition{{Field: "path-pattern", Values: []string{"/nothing"}}})
}

// deleteRule deletes a rule. A default rule cannot be deleted: it gets a fixed response.
func deleteRule(tx *world.Tx, r *world.Rule) {
	if r.Priority == 0 {
		answerFixed(tx, r)
		return
	}
	tx.RemoveRule(r)
}

// deleteCanaryGroup deletes the canary's group, as a tool does that no longer has it: each rule forwards to the
// primary's group alone first.
func (f *simulation) deleteCanaryGroup(tx *world.Tx, _ *world.Rule) {
	w := f.env.Case.World
	for _, r := range tx.Rules.Values() {
		fw := r.ForwardAction()
		if fw == nil || !slices.ContainsFunc(fw.Groups, func(s world.Share) bool { return s.Group == w.Canary.ARN }) {
			continue
		}
		tx.SetActions(r, []world.Action{{Type: "forward", Forward: &world.Forward{
			Groups: []world.Share{{Group: w.Primary.ARN, Weight: 1}}}}})
	}
	f.env.DeleteGroup(tx, w.Canary.ARN)
}

// removeClaim removes the claim's tag, as terraform apply does with tags that it does not know.
func (f *simulation) removeClaim() {
	w := f.env.Case.World
	arn := "arn:aws:ecs:" + w.Region + ":" + w.Account + ":service/" + w.Cluster + "/" + w.Service
	f.env.CallECS("UntagResource", map[string]any{"resourceArn": arn, "tagKeys": []string{plan.ClaimTag}})
	f.rehearsal.Writes.RecordClaimRemoved()
}
