package gates

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/analysis"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/metrics"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// Past is the time in which gates are replayed, and where its metrics are.
type Past struct {
	Account    *account.Account
	Clock      clock.Clock
	OutsideAWS *step.OutsideAWS
	Groups     *metrics.TargetGroups // nil: no Application Load Balancer, so that signals have no metrics
	Span       metrics.Span          // of closed minutes
}

// Replay is what one gate would have decided.
type Replay struct {
	Gate    appfile.PlacedGate `json:"-"`
	Runs    []ReplayedRun      `json:"runs"`              // times in which the gate could judge, oldest first; not nil
	Traffic *Traffic           `json:"traffic,omitempty"` // of a gate that counts requests
	Skipped string             `json:"skipped,omitempty"` // why the gate has no past
	Err     error              `json:"-"`                 // its metrics cannot be read
}

// ReplayedRun is what the gate would have decided in one time.
type ReplayedRun struct {
	From    time.Time        `json:"from"` // of a canary: its first minute with requests
	To      time.Time        `json:"to"`   // and its last one
	Began   time.Time        `json:"-"`    // of the stage
	Verdict analysis.Verdict `json:"verdict"`
	// At is when a good or a bad verdict came, and Minutes how long after the begin of the stage.
	At      time.Time `json:"at,omitzero"`
	Minutes float64   `json:"minutes,omitempty"`
	// Left is the estimate until a verdict, in minutes, if there is none.
	Left    float64         `json:"minutesLeft,omitempty"`
	Follows string          `json:"follows"` // what the deployment does then
	Reason  string          `json:"reason,omitempty"`
	Figures sluice.GateRead `json:"figures"` // at the end
}

// Traffic is the requests of the past, and how long the gate needs with as many.
type Traffic struct {
	Canary          analysis.Counts   `json:"canary"`
	Primary         analysis.Counts   `json:"primary"`
	PerMinute       float64           `json:"perMinute"`                     // of both variants
	CanaryPerMinute float64           `json:"canaryPerMinute"`               // that the planned share gives
	Bad             float64           `json:"primaryBad"`                    // share of the primary's requests
	IsAssumed       bool              `json:"primaryBadIsAssumed,omitempty"` // no request was bad: half a one is assumed
	Expected        []ExpectedVerdict `json:"expected"`                      // not nil
}

// ExpectedVerdict is what a gate decides on average of a canary that is so many times as bad.
type ExpectedVerdict struct {
	Times   float64          `json:"timesAsBad"`
	Verdict analysis.Verdict `json:"verdict"`
	Minutes float64          `json:"minutes,omitempty"` // 0: unknown or never
}

// timesAsBad are the canaries whose expected verdict a replay returns.
var timesAsBad = []float64{1, 2, 5}

// ReplayAll replays gates over the past. It only reads.
func ReplayAll(ctx context.Context, from Past, all []appfile.PlacedGate) (out []Replay) {
	opened := make([]pastReader, len(all))
	out = make([]Replay, len(all))
	for i, g := range all { // all queries are known before the first read: CloudWatch is read once
		out[i].Gate, out[i].Runs = g, []ReplayedRun{}
		opened[i], out[i].Skipped, out[i].Err = openPast(from, g.Gate)
	}
	for i, r := range opened {
		if r != nil {
			out[i].Err = r.replay(ctx, from.Span, &out[i])
		}
	}
	return out
}

// pastReader reads the past of a gate and replays it.
type pastReader interface {
	replay(ctx context.Context, span metrics.Span, out *Replay) error
}

// openPast returns the reader of a gate's past, or why it has none.
func openPast(from Past, g appfile.Gate) (r pastReader, skipped string, err error) {
	switch read := g.Read; {
	case read.Signal != nil && from.Groups == nil:
		return nil, "", gateError(g, errors.New("the service has no Application Load Balancer with two target groups"))
	case read.Signal != nil:
		return pastSignal{from, *read.Signal}, "", nil
	case g.ComparesWithEarlier():
		return nil, "PREVIOUS compares with a deployment of its own time", nil
	case read.Provider != nil:
		source := openSource(*read.Provider, from.Account, from.Clock, from.OutsideAWS)
		if err := prepareQueries(source, g, from.Span.From); err != nil {
			return nil, "", gateError(g, err)
		}
		if g.Counts() {
			return pastCounts{source}, "", nil
		}
		return pastValues{source}, "", nil
	case read.Alarm != "":
		return nil, "CloudWatch returns only the present state of an alarm", nil
	}
	return nil, "a check has no past", nil
}

// longestSilence is how long a canary may have no requests within one run.
const longestSilence = 15 * time.Minute

// splitRuns returns the times with requests of a canary, by the begins of their minutes, oldest first.
func splitRuns(minutes []time.Time) (runs []metrics.Span) {
	for _, at := range minutes {
		if n := len(runs); n > 0 && at.Sub(runs[n-1].To) < longestSilence {
			runs[n-1].To = at.Add(time.Minute)
		} else {
			runs = append(runs, metrics.Span{From: at, To: at.Add(time.Minute)})
		}
	}
	return runs
}

// run is one time that is replayed.
type run struct {
	canary metrics.Span // its first and last minute with metrics
	began  time.Time    // of the stage
	end    time.Time    // no reading is later
	isFull bool         // the stage lasts until end: it ends there without a verdict
}

// newRun returns the run of a stage that begins after the first minute in which a canary got requests: the shift
// came in that minute.
func newRun(g appfile.PlacedGate, canary metrics.Span) run {
	began := canary.From.Add(time.Minute)
	// The last minute closes later, and is read at the next reading.
	known := canary.To.Add(analysis.SettleTime + g.Interval)
	if end := began.Add(g.Duration); g.Duration > 0 && !end.After(known) {
		return run{canary, began, end, true}
	}
	return run{canary, began, known, false}
}

// play replays a gate in one run. lookAt returns what a reading would have seen.
func (r run) play(g appfile.PlacedGate, lookAt func(times) analysis.Look) ReplayedRun {
	x := &gate{Gate: g.Gate}
	out := ReplayedRun{From: r.canary.From, To: r.canary.To, Began: r.began, Verdict: analysis.Undecided}
	since := r.began.Add(g.After)
	judged := analysis.Judgement{Verdict: analysis.Undecided}
	t := times{since: since, last: since, now: since.Add(g.Interval)}
	for ; !t.now.After(r.end); t.now = t.now.Add(g.Interval) {
		look := lookAt(t)
		look.At, t.last = t.now, t.now
		x.saved.State = x.How.See(x.saved.State, look)
		judged = x.How.Judge(x.saved.State)
		if judged.Verdict != out.Verdict {
			out.Verdict, out.At = judged.Verdict, t.now
		}
		if out.Verdict == analysis.Bad || out.Verdict == analysis.Good && g.EndsEarly {
			break
		}
	}
	atEnd := appfile.Reaction("") // of a stage that ended without a verdict
	if out.Verdict == analysis.Undecided && r.isFull {
		judged = x.How.JudgeAtEnd(x.saved.State)
		if out.Verdict = judged.Verdict; judged.Verdict == analysis.Undecided {
			atEnd = reactionOf(g.Gate, g.OnUndecided, judged)
		}
		out.At = r.end
	}
	if out.Verdict == analysis.Undecided {
		out.At = time.Time{}
	} else {
		out.Minutes = out.At.Sub(r.began).Minutes()
	}
	out.Left, out.Reason, out.Figures = judged.Left.Minutes(), judged.Reason, x.figures(judged.Verdict, judged)
	out.Follows = whatFollows(g, out.Verdict, atEnd)
	return out
}

// whatFollows describes what a deployment does after a verdict.
func whatFollows(g appfile.PlacedGate, v analysis.Verdict, atEnd appfile.Reaction) string {
	switch {
	case v == analysis.Bad && g.DryRun:
		return "it is only reported"
	case v == analysis.Bad:
		return "sluice rolls back"
	case v == analysis.Good && g.EndsEarly:
		return "the stage can end"
	case v == analysis.Good:
		return "the pipeline continues after the stage"
	case atEnd == appfile.Hold:
		return "sluice asks a person at the end of the stage"
	case atEnd == appfile.Pass:
		return "the pipeline continues at the end of the stage (onUndecided: pass)"
	case atEnd == appfile.Fail:
		return "sluice rolls back at the end of the stage (onUndecided: fail)"
	}
	return "the canary's requests ended before a verdict"
}

// replayWindows replays a gate that counts requests. hasBad: the series of bad requests exists.
func replayWindows(all []analysis.Window, span metrics.Span, out *Replay, hasBad bool) {
	var minutes []time.Time
	for _, w := range all {
		if w.Canary.All > 0 {
			minutes = append(minutes, w.From)
		}
	}
	for _, canary := range splitRuns(minutes) {
		out.Runs = append(out.Runs, newRun(out.Gate, canary).play(out.Gate, func(t times) analysis.Look {
			return analysis.Look{Windows: windowsIn(all, metrics.Span{From: t.since,
				To: metrics.CloseTime(t.now, time.Minute)}), NoBadSeries: !hasBad}
		}))
	}
	out.Traffic = trafficOf(out.Gate, all, span)
}

// windowsIn returns the windows that are in a span with their whole minute.
func windowsIn(all []analysis.Window, span metrics.Span) []analysis.Window {
	return slices.DeleteFunc(slices.Clone(all), func(w analysis.Window) bool {
		return w.From.Before(span.From) || w.From.Add(time.Minute).After(span.To)
	})
}

// trafficOf returns how many requests there were, and what the gate decides with as many.
func trafficOf(g appfile.PlacedGate, all []analysis.Window, span metrics.Span) *Traffic {
	t, minutes := &Traffic{Expected: []ExpectedVerdict{}}, int(span.To.Sub(span.From)/time.Minute)
	for _, w := range all {
		t.Canary.Bad, t.Canary.All = t.Canary.Bad+w.Canary.Bad, t.Canary.All+w.Canary.All
		t.Primary.Bad, t.Primary.All = t.Primary.Bad+w.Primary.Bad, t.Primary.All+w.Primary.All
	}
	if t.Primary.All == 0 || minutes == 0 {
		return t
	}
	t.PerMinute = float64(t.Canary.All+t.Primary.All) / float64(minutes)
	t.CanaryPerMinute = t.PerMinute * float64(g.Share) / 100
	t.Bad = float64(t.Primary.Bad) / float64(t.Primary.All)
	if t.Primary.Bad == 0 {
		t.Bad, t.IsAssumed = .5/float64(t.Primary.All+1), true
	}
	with := analysis.Traffic{Canary: t.CanaryPerMinute, Primary: t.PerMinute - t.CanaryPerMinute, Bad: t.Bad}
	for _, times := range timesAsBad {
		e := g.How.Expect(with, times)
		t.Expected = append(t.Expected, ExpectedVerdict{times, e.Verdict, e.After.Minutes()})
	}
	return t
}
