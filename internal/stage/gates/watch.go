package gates

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/analysis"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// Watch judges the gates of one stage. The zero value has not polled.
type Watch struct {
	own, whole group // of the stage, and of the whole pipeline
	opened     bool
	approved   time.Time // when this process knew that people have approved the stage; zero: they have not
	status     *plan.GateStatus
}

// group is gates whose states are saved together.
type group struct {
	gates []*gate
	saved memory.Concern[map[string]memory.Gate]
	isNew bool // a look was taken that is not reported
}

// wholePipeline is the index under which the gates of the whole pipeline are saved.
const wholePipeline = -1

// Status returns the verdict of the stage's own gates at the last poll; nil before the first one.
func (w *Watch) Status() *plan.GateStatus { return w.status }

// Approve notes that people approved the stage: it ends once its gates are judged.
func (w *Watch) Approve(at time.Time) (first bool) {
	if first = w.approved.IsZero(); first {
		w.approved = at
	}
	return first
}

// isAtEnd reports whether the stage is over and its gates are judged by all that they had to read: the readings that
// were due by then.
func (w *Watch) isAtEnd(s *step.Step, now time.Time) bool {
	end := s.Host.Began().Add(s.Stage.Duration)
	if s.Stage.NeedsApproval() {
		end = w.approved
	}
	if end.IsZero() || now.Before(end) || w.own.awaitsReading(end) {
		return false
	}
	if s.Stage.NeedsApproval() && w.whole.awaitsValue(now) {
		return false
	}
	return !s.Plan.EndsGates(s.Stage.Index) || !w.whole.awaitsReading(end)
}

// Poll takes what the reads since the last poll returned, judges it, and starts the reads that are due.
// It waits for none. The error is that of a bad gate, or of a state that cannot be saved.
func (w *Watch) Poll(ctx context.Context, s *step.Step) error {
	if s.IsRollback() {
		return nil
	}
	if err := w.open(ctx, s); err != nil {
		return err
	}
	now := s.Clock.Now()
	for _, g := range []*group{&w.own, &w.whole} {
		if err := g.takeLooks(ctx); err != nil {
			return err
		}
	}
	status := plan.GateStatus{AtEnd: w.isAtEnd(s, now)}
	w.own.emit(s, status.AtEnd)
	w.whole.emit(s, status.AtEnd && s.Plan.EndsGates(s.Stage.Index))
	if err := w.own.judge(s, &status); err != nil {
		return err
	}
	if err := w.whole.judge(s, &plan.GateStatus{}); err != nil {
		return err
	}
	if status.AtEnd && s.Plan.EndsGates(s.Stage.Index) {
		names, err := w.whole.withoutValues(s)
		if err != nil {
			return err
		}
		status.Undecided = strings.Join(slices.DeleteFunc([]string{status.Undecided, names}, isEmpty), ", ")
	}
	w.status = &status
	w.own.startReads(ctx, s, now)
	w.whole.startReads(ctx, s, now)
	return nil
}

// NextPoll returns when the stage's gates need the next poll; zero: there are none.
func (w *Watch) NextPoll(s *step.Step) (next time.Time) {
	for _, g := range append(append([]*gate{}, w.own.gates...), w.whole.gates...) {
		if due := g.nextPoll(); next.IsZero() || due.Before(next) {
			next = due
		}
	}
	judgesAtEnd := len(w.own.gates) > 0 || s.Plan.EndsGates(s.Stage.Index)
	if end := s.Host.Began().Add(s.Stage.Duration); judgesAtEnd && s.Clock.Now().Before(end) &&
		(next.IsZero() || end.Before(next)) {
		next = end
	}
	return next
}

// open opens the gates at the first poll, with what was saved.
func (w *Watch) open(ctx context.Context, s *step.Step) error {
	if w.opened {
		return nil
	}
	own, whole := s.Plan.GatesOf(s.Stage.Index)
	var err error
	if w.own, err = openGroup(ctx, s, own, s.Stage.Index, s.Host.Began()); err != nil {
		return err
	}
	if w.whole, err = openGroup(ctx, s, whole, wholePipeline, s.Host.Began()); err != nil {
		return err
	}
	w.opened = true
	return nil
}

// openGroup opens gates. since is when those begin to count that were never saved.
func openGroup(ctx context.Context, s *step.Step, all []appfile.Gate, index int, since time.Time) (group, error) {
	g := group{saved: s.Memory.Gates(index)}
	if len(all) == 0 {
		return g, nil
	}
	saved, err := g.saved.Load(ctx)
	if err != nil {
		return g, err
	}
	for _, from := range all {
		state, ok := saved[from.Name]
		if !ok {
			state.Since = since.Add(from.After)
		}
		r, err := openReader(s, from)
		if err != nil {
			return g, err
		}
		g.gates = append(g.gates, &gate{Gate: from, reader: r, saved: state})
	}
	return g, nil
}

// takeLooks adds the results of finished reads, and saves all states if there was one.
func (g *group) takeLooks(ctx context.Context) error {
	changed := false
	for _, x := range g.gates {
		if look := x.takeLook(); look != nil {
			x.saved.State, x.saved.Read = x.How.See(x.saved.State, *look), look.At
			x.problem, changed = look.Problem, true
		}
	}
	if !changed {
		return nil
	}
	all := map[string]memory.Gate{}
	for _, x := range g.gates {
		all[x.Name] = x.saved
	}
	g.isNew = true
	return g.saved.Save(ctx, all)
}

// emit reports the figures of the gates after new looks, and at the end that they pass. The error of a gate that does not
// has its reason.
func (g *group) emit(s *step.Step, atEnd bool) {
	for _, x := range g.gates {
		v, j := x.verdict(atEnd)
		if v != analysis.Good {
			v, j = x.verdict(false)
		}
		if g.isNew || v == analysis.Good {
			x.emit(s, x.figures(v, j))
		}
	}
	g.isNew = false
}

// awaitsReading reports whether a gate that judges has a reading that was due at the end of the stage.
func (g *group) awaitsReading(end time.Time) bool {
	return slices.ContainsFunc(g.gates, func(x *gate) bool { return !x.DryRun && x.awaitsReading(end) })
}

// awaitsValue reports whether a gate that judges has no value yet, and had no reading since it can have one. An approval
// gives its gates this time, however early it comes.
func (g *group) awaitsValue(now time.Time) bool {
	return slices.ContainsFunc(g.gates, func(x *gate) bool {
		if x.DryRun || x.How.Judge(x.saved.State).HasValues {
			return false
		}
		_, latest := x.FirstValue()
		due := x.saved.Since.Add(latest)
		return now.Before(due) || x.awaitsReading(due)
	})
}

// judge fills in the verdict of all gates. A bad gate is an error, unless it only reports.
func (g *group) judge(s *step.Step, status *plan.GateStatus) error {
	var undecided []string
	judging, good := 0, 0
	for _, x := range g.gates {
		if x.DryRun {
			continue
		}
		judging++
		switch v, j := x.verdict(status.AtEnd); v {
		case analysis.Bad:
			return errBadGate(s, x, j)
		case analysis.Good:
			good++
		default:
			undecided = append(undecided, x.Name)
		}
	}
	status.AllGood = judging > 0 && good == judging
	if status.AtEnd {
		status.Undecided = strings.Join(undecided, ", ")
	}
	return nil
}

// withoutValues returns the names of gates that have seen no value by the end of the pipeline, and that a person
// must decide. It is an error if one fails then.
func (g *group) withoutValues(s *step.Step) (names string, err error) {
	var all []string
	for _, x := range g.gates {
		v, j := x.verdict(true)
		switch {
		case x.DryRun || j.HasValues || v == analysis.Good:
		case v == analysis.Bad:
			return "", errBadGate(s, x, j)
		default:
			all = append(all, x.Name)
		}
	}
	return strings.Join(all, ", "), nil
}

func isEmpty(text string) bool { return text == "" }

func (g *group) startReads(ctx context.Context, s *step.Step, now time.Time) {
	for _, x := range g.gates {
		x.startRead(ctx, s, now)
	}
}

// errBadGate is the error of a gate that refuses the canary.
func errBadGate(s *step.Step, g *gate, j analysis.Judgement) error {
	next := "read the metrics of both versions around " + s.Clock.Now().UTC().Format("15:04 UTC") +
		", and deploy a fixed version"
	switch {
	case g.Read.Alarm != "":
		next = "read the alarm: aws cloudwatch describe-alarms --alarm-names '" + strings.ReplaceAll(g.Read.Alarm, "'", `'\''`) +
			"'; then deploy a fixed version"
	case !j.HasValues:
		next = "check the query and the provider of gate " + g.Name + " with sluice gate test, and deploy again"
	}
	return &sluice.Error{Op: "judge the canary by gate " + g.Name, Resource: s.Client.Resource(), Kind: sluice.Unhealthy,
		Err: fmt.Errorf("%s", j.Reason), Next: step.RemoveRollback(s, next)}
}
