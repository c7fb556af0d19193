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
func (f *Rehearsal) checkCall(c account.Call) {
	if f.id != "" && !f.isOver {
		f.Result.Calls++
	}
	if !c.Write || f.isOver {
		return
	}
	w := sluice.Write{Operation: c.Service + ":" + c.Operation, Resource: c.Resource}
	if !f.isPlanned(c.Action, w) {
		f.AddViolation("P7", "%s is not in the plan of its stage (%s)", w, c.Action)
	}
}

// ClaimValidFor is how long after a read of the claim a write may rely on it.
const ClaimValidFor = 2 * time.Minute

// checkWrite checks the writes that reached AWS: none may follow once another deployment has owned
// the claim for a while.
func (f *Rehearsal) checkWrite(operation string) {
	f.hasWritten = true
	if f.claimTakenAt.IsZero() || f.isOver || operation == "RegisterTaskDefinition" {
		return
	}
	if operation == "StopDeployment" { // only of this deployment's CodeDeploy deployment, which needs no claim
		return
	}
	if since := f.Clock.Now().Sub(f.claimTakenAt); since > ClaimValidFor {
		f.AddViolation("P7", "%s %s after another deployment took the claim", operation, since)
	}
}

// isPlanned reports whether the stage of an action lists the write. The plan may only describe the
// resource.
func (f *Rehearsal) isPlanned(action sluice.ActionID, w sluice.Write) bool {
	for _, x := range f.plannedWrites(action) {
		if x.Operation != w.Operation {
			continue
		}
		switch x.Resource {
		case w.Resource, plan.ObsoleteDefinitions, plan.OwnDeployment, plan.OwnShift, plan.ReturnShift:
			return true
		case plan.PreviousPrimarySet:
			if w.Resource == f.oldSetID {
				return true
			}
		case plan.CanaryInstances, plan.PrimaryInstances:
			if strings.Contains(w.Resource, "/"+plan.IDPrefix) == (x.Resource == plan.CanaryInstances) {
				return true
			}
		case plan.CanarySet, plan.NewPrimarySet, plan.RestoredSet, plan.OtherSets:
			if f.isOwnSet(w.Resource) {
				return true
			}
		}
		if w.Operation == "ecs:RunTask" && strings.HasPrefix(w.Resource, x.Resource+":") {
			return true // the plan names only the family
		}
		if strings.HasSuffix(w.Resource, "/"+x.Resource) || strings.HasSuffix(x.Resource, w.Resource) {
			return true
		}
		if w.Operation == "ecs:RegisterTaskDefinition" || strings.HasPrefix(w.Operation, "ecs:Tag") ||
			strings.HasPrefix(w.Operation, "ecs:Untag") {
			return true // by ARN
		}
	}
	return false
}

// plannedWrites returns the writes that the stage of an action may make.
func (f *Rehearsal) plannedWrites(action sluice.ActionID) []sluice.Write {
	parts := strings.Split(string(action), "/")
	if len(parts) > 1 {
		if n, err := strconv.Atoi(strings.Fields(parts[1] + " x")[0]); err == nil && n <= len(f.Plan.Stages) {
			return append(slices.Clone(f.Plan.Stage(n).Writes), f.Plan.Finish...)
		}
	}
	return nil
}

// isOwnSet reports whether this deployment created a task set.
func (f *Rehearsal) isOwnSet(id string) bool {
	for external, made := range f.setsByExternalID {
		if made == id && plan.IsSluiceID(external) {
			return true
		}
	}
	return false
}
