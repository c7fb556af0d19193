package cli

import (
	"fmt"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// boardRows are the task sets or ECS deployments of the service: the primary, the canary, and
// those that are being replaced or removed.
type boardRows struct {
	primary, canary sluice.CapacityChanged   // the zero value: no event of it yet
	leaving         []sluice.CapacityChanged // in the order of their replacement
	first           sluice.CapacityChanged   // the PRIMARY when the plan was made
}

// initialRows returns the rows before the first event: the primary that serves.
func rowsOf(p *plan.Plan) (r boardRows) {
	if s := p.Serving; s != nil {
		r.first = sluice.CapacityChanged{Variant: sluice.Leaving, TaskSet: s.ID, Revision: s.Revision, Desired: s.Desired, Running: s.Running, Pending: s.Pending}
		r.primary = r.first
	}
	return r
}

// isSameSet reports whether two events belong to the same task set or ECS deployment. Events of
// a followed rolling update have no ID, so their revisions are compared.
func isSame(a, b sluice.CapacityChanged) bool {
	if a.TaskSet != "" && b.TaskSet != "" {
		return a.TaskSet == b.TaskSet
	}
	return a.Revision == b.Revision
}

// hasRemains reports whether any task or draining target of c still exists.
func isLeft(c sluice.CapacityChanged) bool { return c.Running+c.Pending+c.Draining > 0 }

// applyCapacity updates the rows by one event.
func (r *boardRows) see(ev sluice.CapacityChanged) {
	switch ev.Variant {
	case sluice.Canary:
		r.canary = ev
	case sluice.Primary:
		was := r.primary
		r.drop(ev)
		if r.primary = ev; !isSame(was, ev) {
			r.keep(was)
		}
	case sluice.Leaving:
		r.leave(ev)
	}
}

// updateOutgoing updates the counts of a set that is being replaced or removed.
func (r *boardRows) leave(ev sluice.CapacityChanged) {
	switch {
	case r.canary.TaskSet != "" && isSame(r.canary, ev):
		r.canary = ev
	case r.primary.TaskSet != "" && isSame(r.primary, ev) && len(r.leaving) == 0:
		r.primary = ev
	case r.primary.TaskSet != "" && isSame(r.primary, ev): // a rollback: the replaced set serves again
		r.primary = r.leaving[0]
		r.drop(r.primary)
		r.keep(ev)
	default:
		r.drop(ev)
		r.keep(ev)
	}
}

func (r *boardRows) keep(c sluice.CapacityChanged) {
	if isLeft(c) {
		r.leaving = append(r.leaving, c)
	}
}

func (r *boardRows) drop(c sluice.CapacityChanged) {
	var others []sluice.CapacityChanged
	for _, x := range r.leaving {
		if !isSame(x, c) {
			others = append(others, x)
		}
	}
	r.leaving = others
}

// removeFinished drops the rows that a completed stage has removed. After a rollback the primary
// is the initial one again.
func (r *boardRows) settle(rolledBack, canaryToo bool) {
	if rolledBack && r.first.Revision != "" && !isSame(r.first, r.primary) {
		i := -1
		for n, c := range r.leaving {
			if isSame(c, r.first) {
				i = n
			}
		}
		if r.primary = r.first; i >= 0 {
			r.primary = r.leaving[i]
		}
	}
	r.leaving = nil
	if canaryToo {
		r.canary = sluice.CapacityChanged{}
	}
}

// renderRows returns the rows as lines, with the last weights that AWS returned. Until the new
// primary has tasks, the primary's weight is shown in the row of the old version.
func (r *boardRows) lines(asked, live sluice.Weights, canary bool) []string {
	weights := func(v sluice.Variant) string {
		if !live.Valid() {
			return ""
		}
		if !asked.Valid() { // AWS shifts the traffic
			return fmt.Sprintf("live %d%%", live.Of(v))
		}
		return fmt.Sprintf("asked %d%%, live %d%%", asked.Of(v), live.Of(v))
	}
	old := len(r.leaving) > 0 && r.primary.Running == 0
	var all []string
	for i, c := range r.leaving {
		text := ""
		if old && i == 0 {
			text = weights(sluice.Primary)
		}
		all = append(all, rowLine("old", c, text))
	}
	text := weights(sluice.Primary)
	if old {
		text = ""
	}
	all = append(all, rowLine(string(sluice.Primary), r.primary, text))
	if canary {
		all = append(all, rowLine(string(sluice.Canary), r.canary, weights(sluice.Canary)))
	}
	return all
}

func rowLine(label string, c sluice.CapacityChanged, weights string) string {
	what := "-"
	if c.Revision != "" {
		what = c.Revision + "  " + rowWords(c)
	}
	return strings.TrimRight("  "+pad(label, 8)+pad(what, 44)+weights, " ")
}

// rowText returns the task counts. sluice does not read the healthy targets of an outgoing set.
func rowWords(c sluice.CapacityChanged) string {
	if c.Variant != sluice.Leaving {
		return capacityWords(c)
	}
	if c.TaskSet = ""; c.Desired > 0 {
		return capacityWords(c)
	}
	text := fmt.Sprintf("%d running", c.Running)
	if c.Draining > 0 {
		text += fmt.Sprintf(", %d draining", c.Draining)
	}
	return text
}
