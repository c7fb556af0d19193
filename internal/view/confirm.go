package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Confirmation decides from reads of the load balancers whether an outcome is true for callers.
type Confirmation struct {
	Says   string  // what the outcome says: "web:1 runs again"
	Before Traffic // where callers were sent before the deployment
	// AllowsBefore forgives rules by which callers did not reach the service before either.
	AllowsBefore bool
	// IsBegun says that Before is of the time before the deployment. That forgives rules that deployments do not write,
	// by which callers did not reach the service before either, and shares of other services that have not grown since.
	IsBegun bool
	// IsRollback demands the targets of all tasks. Nobody watched the tasks of the restored version during the
	// deployment, so some may just have ended: ECS replaces them, and until then their targets get requests.
	IsRollback bool
	// Others counts the targets that belonged to no task of the service before the deployment.
	Others int

	lacked  bool
	broken  bool          // the last read showed a problem of the rules or groups
	follows time.Duration // the waited time at which every node follows the rule that was mended since
}

// Decision is what one read means for an outcome.
type Decision struct {
	Wait   string // why it is read again after [ConfirmInterval]; empty: it is decided
	Failed bool   // callers do not get the version of the outcome
	Cause  string // of a failure, or what callers get besides
	Note   string // what callers of test rules lost; of no failure
	Next   string // what to do about a failure, or about Note
}

// Tasks counts the tasks of the service at the read.
type Tasks struct{ Running, Desired int }

// Decide returns what a read means. problems are those of t for the groups that serve, and waited is the time since the
// first read: after [ConfirmGrace] nothing is waited for, except that nodes follow a rule that was mended until then.
// [NoMoreWaits] waits for nothing.
func (c *Confirmation) Decide(t Traffic, problems []Problem, tasks Tasks, waited time.Duration) Decision {
	late := waited >= ConfirmGrace
	problems, kept := c.withoutKept(problems)
	if c.broken && len(problems) == 0 && waited < NoMoreWaits {
		c.follows = waited + RulePropagation
	}
	c.broken = len(problems) > 0
	wrong := cmp.Or(Texts(problems), t.MostlyUnhealthy(), t.Name.Problem())
	lacks := c.lacks(t, tasks)
	if wrong == "" && lacks == "" && c.lacked && t.FollowsLate() && !late {
		lacks = "nodes of load balancers and name servers follow within a minute"
	}
	c.lacked = c.lacked || lacks != "" || t.Name.Problem() != ""
	note, next := t.UnansweredTests(c.Before)
	switch {
	case wrong == "" && waited < c.follows:
		return Decision{Wait: fmt.Sprintf("nodes of load balancers follow a mended rule within %s", RulePropagation)}
	case wrong == "" && t.IsUnused() && t.Name == nil:
		return Decision{Cause: NoRequests, Note: note, Next: next}
	case wrong == "" && t.IsUnused():
		return Decision{Cause: "no rule of the load balancer sends requests to the service: only callers of " +
			t.Name.FullName + " reach it", Note: note, Next: next}
	case wrong == "" && (lacks == "" || late):
		return Decision{Cause: cmp.Or(lacks, joinTexts(strays(t, tasks), t.TakenSince(c.Before), kept, c.shared(t))),
			Note: note, Next: next}
	case len(problems) > 0 && c.AllowsBefore && c.Before.Had(problems):
		return Decision{Cause: Describe("callers did not reach the service before, and do not now", problems)}
	case !late:
		return Decision{Wait: cmp.Or(wrong, lacks)}
	case len(problems) == 0:
		return Decision{Failed: true, Cause: c.Says + ", but " + wrong, Next: t.Name.Next()}
	}
	return Decision{Failed: true, Cause: c.Says + ", but " + Describe("callers do not get it", problems),
		Next: problems[0].Next()}
}

// withoutKept returns the problems without those that the state before forgives, and a text of these; empty: there is
// none.
func (c *Confirmation) withoutKept(problems []Problem) (counted []Problem, text string) {
	var kept []Problem
	for _, p := range problems {
		if c.IsBegun && p.isBeside() && c.Before.Had([]Problem{p}) {
			kept = append(kept, p)
		} else {
			counted = append(counted, p)
		}
	}
	if len(kept) == 0 {
		return counted, ""
	}
	return counted, Describe("callers of a rule did not reach the service before, and do not now", kept)
}

// shared says which rules send a part of the service's requests to others, unless the state before tells whether they
// did so then; empty: none does.
func (c *Confirmation) shared(t Traffic) string {
	if text := t.SharedText(); text != "" && !c.IsBegun {
		return "another service gets requests too: " + text
	}
	return ""
}

// joinTexts joins texts that may be empty.
func joinTexts(all ...string) string {
	return strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), "; ")
}

// strays says which targets that get requests belong to no task of the service; empty: there is none.
func strays(t Traffic, tasks Tasks) string {
	n := t.MostTargets() - max(tasks.Running, tasks.Desired)
	switch {
	case n <= 0:
		return ""
	case n == 1:
		return "1 more target than the service has tasks gets a part of the requests"
	}
	return fmt.Sprintf("%d more targets than the service has tasks get a part of the requests", n)
}

// lacks returns what a restored version still lacks, for users; empty: nothing.
func (c *Confirmation) lacks(t Traffic, tasks Tasks) string {
	targets := t.MostTargets() - c.Others
	draining := t.draining()
	switch {
	case !c.IsRollback:
		return ""
	case tasks.Running < tasks.Desired:
		return fmt.Sprintf("%d of %d tasks run", tasks.Running, tasks.Desired)
	case targets > tasks.Running:
		return fmt.Sprintf("%d targets get requests, and %d tasks run", targets, tasks.Running)
	case draining > 0 && t.HasNodes(): // tasks of the restored version ended, and ECS has replaced them
		return fmt.Sprintf("%d targets drain, and nodes of the load balancer may still send them requests", draining)
	}
	return ""
}
