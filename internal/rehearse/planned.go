package rehearse

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// checkCall checks each attempt of a call by sluice (P7).
func (f *field) called(c account.Call) {
	if f.id != "" && !f.over {
		f.result.Calls++
	}
	if !c.Write || f.over {
		return
	}
	w := sluice.Write{Operation: c.Service + ":" + c.Operation, Resource: c.Resource}
	if !f.planned(c.Action, w) {
		f.violate("P7", "%s is not in the plan of its stage (%s)", w, c.Action)
	}
}

// claimValidFor is how long after a read of the claim a write may rely on it.
const claimHolds = 2 * time.Minute

// checkWrite checks the writes that reached AWS: none may follow once another deployment has owned
// the claim for a while.
func (f *field) wrote(operation string) {
	f.begun = true
	if f.taken.IsZero() || f.over || operation == "RegisterTaskDefinition" {
		return
	}
	if operation == "StopDeployment" { // only of this deployment's CodeDeploy deployment, which needs no claim
		return
	}
	if since := f.clock.Now().Sub(f.taken); since > claimHolds {
		f.violate("P7", "%s %s after another deployment took the claim", operation, since)
	}
}

// isPlanned reports whether the stage of an action lists the write. The plan may only describe the
// resource.
func (f *field) planned(action sluice.ActionID, w sluice.Write) bool {
	for _, x := range f.listed(action) {
		if x.Operation != w.Operation {
			continue
		}
		switch x.Resource {
		case w.Resource, plan.OldDefinitions, plan.OurDeployment, plan.OurShift, plan.ReturnShift:
			return true
		case plan.OldPrimarySet:
			if w.Resource == f.old {
				return true
			}
		case plan.CanaryInstances, plan.PrimaryInstances:
			if strings.Contains(w.Resource, "/"+plan.IDPrefix) == (x.Resource == plan.CanaryInstances) {
				return true
			}
		case plan.CanarySet, plan.NewPrimarySet, plan.RestoredSet, plan.OtherSets:
			if f.ours(w.Resource) {
				return true
			}
		}
		if w.Operation == "ecs:RunTask" && strings.HasPrefix(w.Resource, x.Resource+":") {
			return true // the plan names only the family
		}
		if strings.HasSuffix(w.Resource, "/"+x.Resource) || strings.HasSuffix(x.Resource, w.Resource) {
			return true
		}
		if w.Operation == "ecs:RegisterTaskDefinition" || strings.HasPrefix(w.Operation, "ecs:Tag") || strings.HasPrefix(w.Operation, "ecs:Untag") {
			return true // by ARN
		}
	}
	return false
}

// plannedWrites returns the writes that the stage of an action may make.
func (f *field) listed(action sluice.ActionID) []sluice.Write {
	parts := strings.Split(string(action), "/")
	if len(parts) > 1 {
		if n, err := strconv.Atoi(strings.Fields(parts[1] + " x")[0]); err == nil && n <= len(f.plan.Stages) {
			return append(slices.Clone(f.plan.Stage(n).Writes), f.plan.Finish...)
		}
	}
	return nil
}

// isOwnSet reports whether this deployment created a task set.
func (f *field) ours(id string) bool {
	for external, made := range f.made {
		if made == id && plan.Ours(external) {
			return true
		}
	}
	return false
}
