package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
)

// Leftovers are resources on a service that belong to deployments of sluice which are not in the
// local journal. Another machine runs such a deployment, or the machine that ran it does not exist
// any more.
type Leftovers struct {
	Claim string           // value of the claim tag; empty: no deployment owns the service
	Sets  []sluice.TaskSet // task sets created by sluice that are not PRIMARY
	// Beside is the deployment that created the existing canary service; empty: there is none.
	Beside string
}

// FindLeftovers finds the leftovers on a service. known reports whether the journal has a
// deployment. A PRIMARY task set is never a leftover, whoever created it, because it serves.
func FindLeftovers(live AWSState, known func(deployment string) bool) Leftovers {
	var m Leftovers
	if k, err := ParseClaim(live.Claim); live.Claim != "" && (err != nil || !known(k.Deployment)) {
		m.Claim = live.Claim
	}
	if made, stands := live.findCanaryService(); stands && IsSluiceID(made) &&
		!known(sluice.ActionID(made).Deployment()) {
		m.Beside = sluice.ActionID(made).Deployment()
	}
	for _, ts := range live.TaskSets {
		maker := sluice.ActionID(ts.ExternalID).Deployment()
		if ts.ID == live.Lost.Former {
			maker = live.Lost.Deployment
		}
		if !IsLeftover(ts, live.Lost.Former) || known(maker) {
			continue
		}
		m.Sets = append(m.Sets, ts)
	}
	return m
}

// IsLeftover reports whether a task set is a leftover: it is neither PRIMARY nor DRAINING, and
// sluice created it or it is the task set former. former is the id of the task set that served
// before a deployment of sluice.
func IsLeftover(ts sluice.TaskSet, former string) bool {
	return (IsSluiceID(ts.ExternalID) || former != "" && ts.ID == former) && ts.Status != "PRIMARY" &&
		ts.Status != "DRAINING"
}

// IsEmpty reports whether there are no leftovers.
func (m Leftovers) IsEmpty() bool { return m.Claim == "" && len(m.Sets) == 0 && m.Beside == "" }

// String lists the leftovers for people.
func (m Leftovers) String() string {
	var parts []string
	if m.Beside != "" {
		parts = append(parts, "a canary service (created by "+m.Beside+")")
	}
	for _, ts := range m.Sets {
		made := "the previous primary"
		if by := sluice.ActionID(ts.ExternalID).Deployment(); by != "" {
			made = "created by " + by
		}
		parts = append(parts, fmt.Sprintf("task set %s of %s (%s)", ts.ID, ts.Revision, made))
	}
	return strings.Join(parts, "; ")
}

// addAdoptWrites adds the writes of the stage that removes leftovers: it routes all traffic to the
// primary and removes the other task sets of sluice.
func (p *Plan) addAdoptWrites(s *Stage, live AWSState) {
	p.addClaimWrites(s)
	if p.HasCanaryService() {
		p.addRoutes(s, live, sluice.CanaryShare(0))
		p.addCanaryServiceDeletes(s)
	}
	if p.RollsByECS() || p.ByCodeDeploy() {
		return
	}
	s.addWrite("ecs:UpdateTaskSet", ServingSet)
	p.addRoutes(s, live, sluice.CanaryShare(0))
	s.addRetireWrites(OtherSets)
	if p.OnOtherTargets == sluice.RemoveTargets {
		s.addRetireWrites(ExternalSets)
	}
}

// Adopts reports whether the plan begins by removing leftovers of another deployment.
func (p *Plan) Adopts() bool {
	return len(p.Stages) > 0 && p.Stages[0].Adopts()
}

// leftoverKind is the Of field of a [Change] that an adoption makes.
const leftoverKind = "left behind"

// leftoverChanges returns the changes that an adoption makes.
func (p *Plan) leftoverChanges(app *appfile.Application, live AWSState, o Options) (all []Change) {
	if live.Claim != "" && o.Adopt {
		all = append(all, Change{Of: leftoverKind, Path: ClaimTag, Have: live.Claim, Want: "this deployment's"})
	}
	if p.Hosting == "" {
		return all
	}
	for _, c := range listLeftovers(live, "-") {
		all = append(all, Change{Of: leftoverKind, Path: c.Of + " " + c.Path, Have: c.Have, Want: c.Want})
	}
	if app.OnOtherTargets == sluice.RemoveTargets {
		for _, ts := range live.externalSets(app) {
			all = append(all, Change{Of: leftoverKind, Path: "task set " + ts.ID,
				Have: fmt.Sprintf("of %s, not created by sluice, %d running", ts.Revision, ts.Running), Want: "-"})
		}
	}
	for _, c := range weightedRules(app, live) {
		all = append(all, Change{Of: leftoverKind, Path: c.Of + " " + c.Path, Have: c.Have, Want: c.Want})
	}
	return all
}

// Deploys reports whether the deployment changes anything other than leftovers.
func (p *Plan) Deploys() bool {
	return slices.ContainsFunc(p.Changes, func(c Change) bool { return c.Of != leftoverKind })
}

// withAdoptStage puts a stage before the others that removes leftovers of earlier deployments. It
// does so if there are leftovers or if a user asks for it.
func (o Options) withAdoptStage(stages []appfile.Stage, app *appfile.Application, live AWSState) []appfile.Stage {
	says := "clean up after a deployment whose journal is lost"
	if !o.Adopt {
		if !slices.ContainsFunc(stages, isVariantStage) && !o.Only || !hasLeftovers(app, live) {
			return stages
		}
		says = "remove leftovers of earlier deployments"
	}
	adopt := appfile.Stage{Name: appfile.StageAdopt, With: appfile.Adopt{}, Timeout: app.Timeout, Desc: says}
	if o.Only {
		return []appfile.Stage{adopt}
	}
	return append([]appfile.Stage{adopt}, stages...)
}
