package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
)

// Marks are what deployments of sluice left on a service which are not in the
// journal at hand: another machine runs one, or the machine that did is gone.
type Marks struct {
	Claim string           // value of the claim tag; empty: nobody holds it
	Sets  []sluice.TaskSet // task sets of ours that are not PRIMARY
	// Beside is who made the canary service that stands; empty: none does.
	Beside string
}

// Left finds the marks on a service; known tells the deployments of the journal.
// A PRIMARY task set is no mark, whoever made it: it is what serves.
func Left(live Live, known func(deployment string) bool) Marks {
	var m Marks
	if k, err := ParseClaim(live.Claim); live.Claim != "" && (err != nil || !known(k.Deployment)) {
		m.Claim = live.Claim
	}
	if made, stands := live.besideStands(); stands && Ours(made) && !known(sluice.ActionID(made).Deployment()) {
		m.Beside = sluice.ActionID(made).Deployment()
	}
	for _, ts := range live.TaskSets {
		maker := sluice.ActionID(ts.ExternalID).Deployment()
		if ts.ID == live.Lost.Former {
			maker = live.Lost.Deployment
		}
		if !LeftOver(ts, live.Lost.Former) || known(maker) {
			continue
		}
		m.Sets = append(m.Sets, ts)
	}
	return m
}

// LeftOver reports whether a task set stands beside what serves and is one of
// ours, or the one that served before a deployment of ours: former is its id.
func LeftOver(ts sluice.TaskSet, former string) bool {
	return (Ours(ts.ExternalID) || former != "" && ts.ID == former) && ts.Status != "PRIMARY" && ts.Status != "DRAINING"
}

// None reports whether nothing was left.
func (m Marks) None() bool { return m.Claim == "" && len(m.Sets) == 0 && m.Beside == "" }

// String lists what stands, for people.
func (m Marks) String() string {
	var parts []string
	if m.Beside != "" {
		parts = append(parts, "a canary service (made by "+m.Beside+")")
	}
	for _, ts := range m.Sets {
		made := "served before"
		if by := sluice.ActionID(ts.ExternalID).Deployment(); by != "" {
			made = "made by " + by
		}
		parts = append(parts, fmt.Sprintf("task set %s of %s (%s)", ts.ID, ts.Revision, made))
	}
	return strings.Join(parts, "; ")
}

// adopt is the plan of the stage that clears away what was left: all traffic to
// the primary, our other task sets removed.
func (p *Plan) adopt(s *Stage, live Live) {
	p.claim(s)
	if p.Beside() {
		p.routes(s, live, sluice.CanaryShare(0))
		p.besideRetire(s)
	}
	if p.Rolls() || p.ByCodeDeploy() {
		return
	}
	s.write("ecs:UpdateTaskSet", ServingSet)
	p.routes(s, live, sluice.CanaryShare(0))
	s.retire(OtherSets)
	if p.OnOtherTargets == sluice.RemoveTargets {
		s.retire(ForeignSets)
	}
}

// Adopts reports whether the plan begins by clearing away what another
// deployment left.
func (p *Plan) Adopts() bool {
	return len(p.Stages) > 0 && p.Stages[0].Name == appfile.StageAdopt
}

// ofLeft is what a [Change] is of that an adoption makes.
const ofLeft = "left behind"

// left are the changes that an adoption makes.
func (p *Plan) left(app *appfile.Application, live Live, o Options) (all []Change) {
	if live.Claim != "" && o.Adopt {
		all = append(all, Change{Of: ofLeft, Path: ClaimTag, Have: live.Claim, Want: "this deployment's"})
	}
	if p.Hosting == "" {
		return all
	}
	for _, c := range leftOf(live, "-") {
		all = append(all, Change{Of: ofLeft, Path: c.Of + " " + c.Path, Have: c.Have, Want: c.Want})
	}
	if app.OnOtherTargets == sluice.RemoveTargets {
		for _, ts := range live.foreignSets(app) {
			all = append(all, Change{Of: ofLeft, Path: "task set " + ts.ID, Have: fmt.Sprintf("of %s, made by others, %d running", ts.Revision, ts.Running), Want: "-"})
		}
	}
	for _, c := range weighted(app, live) {
		all = append(all, Change{Of: ofLeft, Path: c.Of + " " + c.Path, Have: c.Have, Want: c.Want})
	}
	return all
}

// Deploys reports whether deploying would change anything but what was left
// behind.
func (p *Plan) Deploys() bool {
	return slices.ContainsFunc(p.Changes, func(c Change) bool { return c.Of != ofLeft })
}

// before is the stages with those that come before them: one that removes what earlier
// deployments left, if there is anything or a person asks for it.
func (o Options) before(stages []appfile.Stage, app *appfile.Application, live Live) []appfile.Stage {
	says := "clear away what a deployment left whose journal is not here"
	if !o.Adopt {
		if !slices.ContainsFunc(stages, ofVariants) && !o.Only || !leaves(app, live) {
			return stages
		}
		says = "remove what earlier deployments left"
	}
	adopt := appfile.Stage{Name: appfile.StageAdopt, With: appfile.Adopt{}, Timeout: app.Timeout, Desc: says}
	if o.Only {
		return []appfile.Stage{adopt}
	}
	return append([]appfile.Stage{adopt}, stages...)
}
