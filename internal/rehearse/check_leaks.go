package rehearse

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/rehearse/shape"
)

// checkTargets checks that the two groups contain only targets of the tasks that serve.
func (c *EndChecks) checkTargets(tx *world.Tx, s *world.Service, fresh bool) {
	for _, g := range []shape.Group{c.env.Case.World.Primary, c.env.Case.World.Canary} {
		group, ok := tx.TargetGroups.Get(g.ARN)
		if !ok {
			continue
		}
		for _, t := range group.Targets {
			if t.Task != nil && t.Task.Set != nil && c.seconds.Exist() && strings.HasPrefix(t.Task.Set.ExternalID,
				plan.IDPrefix+"second") {
				continue
			}
			if t.Task == nil || t.Task.Set == nil || t.Task.Set != s.Primary() && !(fresh && c.isKept(s, t.Task.Set)) {
				c.report.AddViolation("P3", "target %s of %s is still registered (%s)", t.ID, group.Name, t.State)
			}
		}
	}
}

// countRevisions counts the revisions of the service; steps have their own definitions.
func (c *EndChecks) countRevisions(tx *world.Tx) int {
	n, beside := 0, []string{StepBefore, StepAfter}
	if !c.env.Case.Generated {
		beside = c.deployment.stepFamilies()
	}
	for _, d := range tx.TaskDefinitions.Values() {
		if d.Family != "others" && d.Family != JobFamily && !slices.Contains(beside, d.Family) {
			n++
		}
	}
	return n
}

// checkCanaryDeleted checks that the canary service was deleted with its deployment (P3).
func (c *EndChecks) checkCanaryDeleted(tx *world.Tx) {
	if s := c.env.FindCanaryService(tx); s != nil && s.Status != "INACTIVE" {
		c.report.AddViolation("P3", "service %s still exists (%s, %d tasks)", s.Name, s.Status, s.Desired)
	}
}

// unmanagedText returns everything that sluice must not change, as text.
func (c *EndChecks) unmanagedText(tx *world.Tx) string {
	var b strings.Builder
	for _, r := range tx.Rules.Values() {
		if _, ours := c.rules.initialActions[r.ARN]; ours || c.env.shiftsElsewhere(r) {
			fmt.Fprintf(&b, "%s %d %v\n", r.Name(), r.Priority, r.Conditions)
			continue
		}
		fmt.Fprintf(&b, "%s %d %v %s\n", r.Name(), r.Priority, r.Conditions, world.ActionsText(r.Actions))
	}
	for _, s := range tx.Services.Values() {
		if s == c.env.FindService(tx) || s == c.env.FindCanaryService(tx) {
			continue
		}
		fmt.Fprintf(&b, "%s %d", s.ID(), s.Desired)
		for _, ts := range s.TaskSets {
			fmt.Fprintf(&b, " %s %s", ts.ID, ts.Status)
		}
		b.WriteByte('\n')
	}
	b.WriteString(c.env.otherToolSetsText(tx))
	fmt.Fprintf(&b, "%d target groups, %d load balancers", len(tx.TargetGroups.Keys()), len(tx.LoadBalancers.Keys()))
	return b.String()
}
