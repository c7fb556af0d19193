package inspect

import (
	"fmt"
	"strings"

	"github.com/sluice-ecs/sluice"
)

// undescribedTexts returns a warning for each resource that the files do not describe and that gets
// requests or is a leftover of an earlier deployment. It returns none while a deployment runs,
// because the canary then belongs to that deployment.
func (t *ServiceReport) undescribedTexts() (all []string) {
	if t.Claim != "" || t.Deployment != nil && t.Deployment.Outcome == "" {
		return nil
	}
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	for _, s := range t.TaskSets {
		switch {
		case s.Status != "ACTIVE":
		case s.madeBy != "":
			say("task set %s of %s is a leftover of an earlier deployment: the next deployment deletes it%s", s.ID,
				s.Revision, t.undoText(s.madeBy))
		case s.inGroups:
			say("task set %s of %s gets requests but was not created by sluice", s.ID, s.Revision)
		}
	}
	if c := t.CanaryService; c != nil && c.Status == "ACTIVE" {
		say("canary service %s of %s is a leftover of an earlier deployment: the next deployment deletes it%s",
			c.Service, c.Revision, t.undoText(c.CreatedBy))
	}
	for _, l := range t.OtherTargets {
		if !strings.HasPrefix(l.State, "draining") {
			say("target %s of %s is not a task of the service", l.Address, l.Group)
		}
	}
	for _, r := range t.Rules {
		if r.Canary != nil && *r.Canary > 0 {
			say("the %s sends requests to the canary target group (weight %d)", r.Name, *r.Canary)
		}
	}
	for _, n := range t.Names {
		for _, f := range n.Variants {
			if f.Variant == sluice.Canary && f.Registered > 0 {
				say("%s still has %s of an earlier deployment", n.Name, sluice.Plural(f.Registered, "canary task"))
			}
		}
	}
	return all
}

// undoText adds to the text about a leftover the command that removes it, if the newest deployment of the journal made it
// and ended without success: only then does its rollback restore what served before it.
func (t *ServiceReport) undoText(madeBy string) string {
	d := t.Deployment
	if d == nil || d.ID != madeBy || !mayLeaveCanary(d.Outcome) {
		return ""
	}
	return ", and so does the rollback of the deployment that left it: sluice rollback " + madeBy
}

// mayLeaveCanary reports whether a deployment with the outcome ended without success, and its rollback did not follow.
func mayLeaveCanary(o sluice.Outcome) bool {
	return o == sluice.Failed || o == sluice.Stalled || o == sluice.Stopped || o == sluice.TimedOut
}
