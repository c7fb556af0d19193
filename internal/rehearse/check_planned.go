package rehearse

import (
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// WriteChecks checks sluice's writes: that they are planned, and covered by its claim.
type WriteChecks struct {
	env        *Environment
	report     *Report
	deployment *Deployment
	sets       *setChecks
	seconds    *SecondSluices

	hasWritten      bool      // sluice has written something
	claimTakenAt    time.Time // when another deployment took the claim
	claimUnreleased bool      // AWS answered no call that releases the claim: it expires
}

// checkCall checks each attempt of a call by sluice (P7).
func (p *WriteChecks) checkCall(c account.Call) {
	if p.deployment.ID != "" && !p.env.IsOver {
		p.report.Result.Calls++
	}
	if !c.Write || p.env.IsOver {
		return
	}
	w := sluice.Write{Operation: c.Service + ":" + c.Operation, Resource: c.Resource}
	if !p.isPlanned(c.Action, w) {
		p.report.AddViolation("P7", "%s is not in the plan of its stage (%s)", w, c.Action)
	}
}

// ClaimValidFor is how long after a read of the claim a write may rely on it.
const ClaimValidFor = 2 * time.Minute

// maxClaimRace is how long after another claim ours may be written by a call that relies on a read from
// before it.
const maxClaimRace = 30 * time.Second

// hasClaim reports whether the service has this deployment's claim.
func (p *WriteChecks) hasClaim() bool {
	k, err := plan.ParseClaim(p.env.serviceTags()[plan.ClaimTag])
	return err == nil && k.Deployment == p.deployment.ID
}

// checkWrite checks the writes that reached AWS: none may follow once another deployment has owned
// the claim for a while.
func (p *WriteChecks) checkWrite(operation string) {
	p.hasWritten = true
	if p.claimTakenAt.IsZero() || p.env.IsOver || operation == "RegisterTaskDefinition" {
		return
	}
	since := p.env.Clock.Now().Sub(p.claimTakenAt)
	if operation == "TagResource" && (since <= maxClaimRace || p.seconds.haveLeft()) && p.hasClaim() {
		p.claimTakenAt = time.Time{} // both claimed at the same time, and the later one has it; or the other one gave up
		return
	}
	switch operation {
	case "StopDeployment", "ContinueDeployment":
		return // they name this deployment's CodeDeploy deployment: while it runs, its group begins no other
	}
	if since > ClaimValidFor {
		p.report.AddViolation("P7", "%s %s after another deployment took the claim", operation, since)
	}
}

// isPlanned reports whether the stage of an action lists the write. The plan may only describe the
// resource.
func (p *WriteChecks) isPlanned(action sluice.ActionID, w sluice.Write) bool {
	for _, x := range p.deployment.plannedWrites(action) {
		if x.Operation != w.Operation {
			continue
		}
		switch x.Resource {
		case w.Resource, plan.ObsoleteDefinitions, plan.OwnDeployment, plan.OwnShift, plan.ReturnShift:
			return true
		case plan.PreviousPrimarySet:
			if w.Resource == p.sets.oldID {
				return true
			}
		case plan.CanaryInstances, plan.PrimaryInstances:
			if strings.Contains(w.Resource, "/"+plan.IDPrefix) == (x.Resource == plan.CanaryInstances) {
				return true
			}
		case plan.CanarySet, plan.NewPrimarySet, plan.RestoredSet, plan.OtherSets:
			if p.sets.isOwnSet(w.Resource) {
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

// RecordClaimTaken records when another deployment first wrote its claim to the service.
func (p *WriteChecks) RecordClaimTaken(at time.Time) {
	if p.claimTakenAt.IsZero() {
		p.claimTakenAt = at
	}
}

// RecordClaimRemoved records that another tool removed the claim of whoever had it: nobody can know of a claim that was
// there before.
func (p *WriteChecks) RecordClaimRemoved() { p.claimTakenAt = time.Time{} }
