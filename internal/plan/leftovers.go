package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
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
	if made, stands := live.FindCanaryService(); stands && IsSluiceID(made) &&
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

// Adopts reports whether the plan begins by removing leftovers of another deployment.
func (p *Plan) Adopts() bool {
	return len(p.Stages) > 0 && p.Stages[0].Adopts()
}

// OnlyAdopts reports whether the plan removes leftovers and does nothing else. It changes no version, whichever it
// finds.
func (p *Plan) OnlyAdopts() bool { return p.Adopts() && len(p.Stages) == 1 }

// LeftoverKind is the Of field of a [Change] that an adoption makes.
const LeftoverKind = "left behind"

// Deploys reports whether the deployment changes anything other than leftovers.
func (p *Plan) Deploys() bool {
	return slices.ContainsFunc(p.Changes, func(c Change) bool { return c.Of != LeftoverKind })
}
