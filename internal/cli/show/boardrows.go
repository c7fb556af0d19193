package show

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
	outgoing        []sluice.CapacityChanged // in the order of their replacement
	initial         sluice.CapacityChanged   // the PRIMARY when the plan was made
}

// initialRows returns the rows before the first event: the primary that serves.
func initialRows(p *plan.Plan) (r boardRows) {
	if s := p.Serving; s != nil {
		r.initial = sluice.CapacityChanged{Variant: sluice.Leaving, TaskSet: s.ID, Revision: s.Revision,
			Desired: s.Desired, Running: s.Running, Pending: s.Pending}
		r.primary = r.initial
	}
	return r
}

// isSameSet reports whether two events belong to the same task set or ECS deployment. Events of
// a followed rolling update have no ID, so their revisions are compared.
func isSameSet(a, b sluice.CapacityChanged) bool {
	if a.TaskSet != "" && b.TaskSet != "" {
		return a.TaskSet == b.TaskSet
	}
	return a.Revision == b.Revision
}

// hasRemains reports whether any task or draining target of c still exists.
func hasRemains(c sluice.CapacityChanged) bool { return c.Running+c.Pending+c.Draining > 0 }

// applyCapacity updates the rows by one event.
func (r *boardRows) applyCapacity(ev sluice.CapacityChanged) {
	switch ev.Variant {
	case sluice.Canary:
		r.canary = ev
	case sluice.Primary:
		was := r.primary
		r.dropOutgoing(ev)
		if r.primary = ev; !isSameSet(was, ev) {
			r.addOutgoing(was)
		}
	case sluice.Leaving:
		r.updateOutgoing(ev)
	}
}

// updateOutgoing updates the counts of a set that is being replaced or removed.
func (r *boardRows) updateOutgoing(ev sluice.CapacityChanged) {
	switch {
	case r.canary.TaskSet != "" && isSameSet(r.canary, ev):
		r.canary = ev
	case r.primary.TaskSet != "" && isSameSet(r.primary, ev) && len(r.outgoing) == 0:
		r.primary = ev
	case r.primary.TaskSet != "" && isSameSet(r.primary, ev): // a rollback: the replaced set serves again
		r.primary = r.outgoing[0]
		r.dropOutgoing(r.primary)
		r.addOutgoing(ev)
	default:
		r.dropOutgoing(ev)
		r.addOutgoing(ev)
	}
}

func (r *boardRows) addOutgoing(c sluice.CapacityChanged) {
	if hasRemains(c) {
		r.outgoing = append(r.outgoing, c)
	}
}

func (r *boardRows) dropOutgoing(c sluice.CapacityChanged) {
	var others []sluice.CapacityChanged
	for _, x := range r.outgoing {
		if !isSameSet(x, c) {
			others = append(others, x)
		}
	}
	r.outgoing = others
}

// removeFinished drops the rows that a completed stage has removed. After a rollback the primary
// is the initial one again.
func (r *boardRows) removeFinished(rolledBack, canaryToo bool) {
	if rolledBack && r.initial.Revision != "" && !isSameSet(r.initial, r.primary) {
		i := -1
		for n, c := range r.outgoing {
			if isSameSet(c, r.initial) {
				i = n
			}
		}
		if r.primary = r.initial; i >= 0 {
			r.primary = r.outgoing[i]
		}
	}
	r.outgoing = nil
	if canaryToo {
		r.canary = sluice.CapacityChanged{}
	}
}

// renderRows returns the rows as lines, with the last weights that AWS returned and the measured share of
// the canary, if it is known. Until the new
// primary has tasks, the primary's weight is shown in the row of the old version.
func (r *boardRows) renderRows(asked, live sluice.Weights, measured *sluice.MeasuredShare, canary bool,
	width int) []string {
	weights := func(v sluice.Variant) string {
		if !live.Valid() {
			return ""
		}
		if !asked.Valid() { // AWS shifts the traffic
			return fmt.Sprintf("actual %d%%", live.Of(v))
		}
		return fmt.Sprintf("requested %d%%, actual %d%%", asked.Of(v), live.Of(v))
	}
	old := len(r.outgoing) > 0 && r.primary.Running == 0
	var all []string
	for i, c := range r.outgoing {
		text := ""
		if old && i == 0 {
			text = weights(sluice.Primary)
		}
		all = append(all, rowLines("old", c, text, width)...)
	}
	text := weights(sluice.Primary)
	if old {
		text = ""
	}
	all = append(all, rowLines(string(sluice.Primary), r.primary, text, width)...)
	if canary {
		text := weights(sluice.Canary)
		if measured != nil && text != "" {
			text += ", measured " + measured.Interval()
		}
		all = append(all, rowLines(string(sluice.Canary), r.canary, text, width)...)
	}
	return all
}

// rowLines returns the row of a variant. The weights are below the counts if the terminal is too narrow for both.
func rowLines(label string, c sluice.CapacityChanged, weights string, width int) []string {
	what := "-"
	if c.Revision != "" {
		what = c.Revision + "  " + rowText(c)
	}
	label = "  " + PadRight(label, 8)
	row := strings.TrimRight(label+PadRight(what+"  ", 42)+weights, " ")
	if width < narrowest || visibleWidth(row) <= width {
		return []string{row}
	}
	indent := len(label)
	all := wrapAt(label+what, width, indent)
	if weights != "" {
		all = append(all, wrapAt(strings.Repeat(" ", indent)+weights, width, indent)...)
	}
	return all
}

// rowText returns the task counts. sluice does not read the healthy targets of an outgoing set.
func rowText(c sluice.CapacityChanged) string {
	if c.Variant != sluice.Leaving {
		return capacityText(c)
	}
	if c.TaskSet = ""; c.Desired > 0 {
		return capacityText(c)
	}
	text := fmt.Sprintf("%d running", c.Running)
	if c.Draining > 0 {
		text += fmt.Sprintf(", %d draining", c.Draining)
	}
	return text
}
