package inspect

import (
	"fmt"
	"io"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/analysis"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/cli/show"
	"github.com/sluice-ecs/sluice/internal/stage/gates"
)

// gateTestSchema names the format of replays in JSON.
const gateTestSchema = "sluice.gatetest/1"

// GateTestReport is what the gates of an application would have decided.
type GateTestReport struct {
	Schema string       `json:"schema"`
	File   string       `json:"file"`
	From   time.Time    `json:"from"`
	To     time.Time    `json:"to"`
	Unread int          `json:"unread"` // gates whose metrics cannot be read
	Gates  []GateReplay `json:"gates"`
}

// GateReplay is what one gate would have decided.
type GateReplay struct {
	Gate     string       `json:"gate"`
	Stage    string       `json:"stage,omitempty"`    // empty: the whole pipeline
	Duration string       `json:"duration,omitempty"` // of the stage
	Share    int          `json:"share"`              // percent of the requests that the canary gets in the stage
	Runs     []GateRun    `json:"runs"`
	Traffic  *PastTraffic `json:"traffic,omitempty"`
	Skipped  string       `json:"skipped,omitempty"`
	Problem  string       `json:"problem,omitempty"`
	Next     string       `json:"next,omitempty"`

	compares bool
}

// GateRun is one time in which the gate could judge.
type GateRun struct {
	From    time.Time       `json:"from"`
	To      time.Time       `json:"to"`
	Verdict string          `json:"verdict"`           // good, bad, undecided
	At      *time.Time      `json:"at,omitempty"`      // of the verdict
	Minutes float64         `json:"minutes,omitempty"` // from the begin of the stage until the verdict
	Left    float64         `json:"minutesLeft,omitempty"`
	Follows string          `json:"follows"`
	Reason  string          `json:"reason,omitempty"`
	Figures sluice.GateRead `json:"figures"`
}

// PastTraffic is the requests of the past, and how long the gate needs with as many.
type PastTraffic struct {
	Canary          analysis.Counts    `json:"canary"`
	Primary         analysis.Counts    `json:"primary"`
	PerMinute       float64            `json:"perMinute"`
	CanaryPerMinute float64            `json:"canaryPerMinute"` // that the planned share gives
	Bad             float64            `json:"primaryBad"`      // share
	IsAssumed       bool               `json:"primaryBadIsAssumed,omitempty"`
	Expected        []ExpectedDecision `json:"expected"`
}

// ExpectedDecision is what the gate decides on average of a canary that is so many times as bad.
type ExpectedDecision struct {
	Times   float64 `json:"timesAsBad"`
	Verdict string  `json:"verdict"`
	Minutes float64 `json:"minutes,omitempty"`
}

func newGateTestReport(app *appfile.Application, from gates.Past, all []gates.Replay) *GateTestReport {
	r := &GateTestReport{Schema: gateTestSchema, File: app.File, From: from.Span.From, To: from.Span.To}
	for _, x := range all {
		g := GateReplay{Gate: x.Gate.Name, Stage: x.Gate.Stage, Share: x.Gate.Share, Skipped: x.Skipped, Runs: []GateRun{},
			Traffic: newPastTraffic(x.Traffic), compares: x.Gate.Counts() || x.Gate.Compares()}
		if x.Gate.Duration > 0 {
			g.Duration = x.Gate.Duration.String()
		}
		if x.Err != nil {
			r.Unread++
			g.Problem, g.Next = x.Err.Error(), sluice.NextStep(x.Err)
		}
		for _, run := range x.Runs {
			g.Runs = append(g.Runs, newGateRun(x.Gate, run))
		}
		r.Gates = append(r.Gates, g)
	}
	return r
}

func newGateRun(g appfile.PlacedGate, run gates.ReplayedRun) GateRun {
	out := GateRun{From: run.From, To: run.To, Verdict: string(run.Verdict), Left: run.Left.Minutes(),
		Follows: whatFollows(g, run), Reason: run.Reason, Figures: run.Figures}
	if !run.At.IsZero() {
		out.At, out.Minutes = &run.At, run.At.Sub(run.Began).Minutes()
	}
	return out
}

// whatFollows describes what a deployment does after a verdict.
func whatFollows(g appfile.PlacedGate, run gates.ReplayedRun) string {
	switch {
	case run.Verdict == analysis.Bad && g.DryRun:
		return "it is only reported"
	case run.Verdict == analysis.Bad:
		return "sluice rolls back"
	case run.Verdict == analysis.Good && g.EndsEarly:
		return "the stage can end"
	case run.Verdict == analysis.Good:
		return "the pipeline continues after the stage"
	case run.AtEnd == appfile.Hold:
		return "sluice asks a person at the end of the stage"
	case run.AtEnd == appfile.Pass:
		return "the pipeline continues at the end of the stage (onUndecided: pass)"
	case run.AtEnd == appfile.Fail:
		return "sluice rolls back at the end of the stage (onUndecided: fail)"
	}
	return "the canary's requests ended before a verdict"
}

func newPastTraffic(t *gates.Traffic) *PastTraffic {
	if t == nil {
		return nil
	}
	out := &PastTraffic{Canary: t.Canary, Primary: t.Primary, PerMinute: t.PerMinute, CanaryPerMinute: t.CanaryPerMinute,
		Bad: t.Bad, IsAssumed: t.IsAssumed, Expected: []ExpectedDecision{}}
	for _, e := range t.ExpectedVerdicts {
		out.Expected = append(out.Expected, ExpectedDecision{e.Times, string(e.Verdict), e.After.Minutes()})
	}
	return out
}

func (p *program) printGateTest(r *GateTestReport) error {
	if p.Flags.Output == session.JSON {
		return show.WriteJSON(p.Env.Out, r)
	}
	fmt.Fprintf(p.Env.Out, "%s, metrics of %s to %s UTC\n", r.File, r.From.Format(dayAndTime), r.To.Format(dayAndTime))
	for _, g := range r.Gates {
		g.Next = p.NextStep(g.Next)
		g.write(p.Env.Out)
	}
	return nil
}

const dayAndTime = "2006-01-02 15:04"

func (g GateReplay) write(w io.Writer) {
	fmt.Fprintf(w, "\ngate %s (%s)\n", g.Gate, g.place())
	switch {
	case g.Problem != "":
		fmt.Fprintf(w, "  not read: %s\n", g.Problem)
		if g.Next != "" {
			fmt.Fprintf(w, "  next: %s\n", g.Next)
		}
		return
	case g.Skipped != "":
		fmt.Fprintf(w, "  not replayed: %s\n", g.Skipped)
		return
	case len(g.Runs) == 0 && g.compares:
		fmt.Fprintln(w, "  no canary got requests in this time, so the gate had nothing to judge")
	case len(g.Runs) == 0:
		fmt.Fprintln(w, "  the query had no values in this time")
	case !g.compares:
		g.writeSummary(w)
	}
	for _, run := range g.Runs {
		if g.compares || run.Verdict == string(analysis.Bad) {
			run.write(w)
		}
	}
	if g.Traffic != nil {
		g.Traffic.write(w, g.Share)
	}
}

// place describes where the gate judges: "ANALYSIS 30m0s, canary 20 %".
func (g GateReplay) place() string {
	text := "the whole pipeline"
	if g.Stage != "" {
		text = g.Stage + " " + g.Duration
	}
	if g.Share > 0 {
		text += fmt.Sprintf(", canary %d %%", g.Share)
	}
	return text
}

// writeSummary counts the verdicts of stages that begin again and again.
func (g GateReplay) writeSummary(w io.Writer) {
	count := map[string]int{}
	for _, run := range g.Runs {
		count[run.Verdict]++
	}
	fmt.Fprintf(w, "  %s of %s, one after the other: %d good, %d bad, %d undecided\n", sluice.Plural(len(g.Runs), "stage"),
		g.Runs[0].To.Sub(g.Runs[0].From), count["good"], count["bad"], count["undecided"])
}

func (r GateRun) write(w io.Writer) {
	verdict := r.Verdict
	if r.Minutes > 0 && r.Verdict != string(analysis.Undecided) {
		verdict += fmt.Sprintf(" after %.0f min", r.Minutes)
	}
	fmt.Fprintf(w, "  %s–%s  %s: %s\n", r.From.Format(dayAndTime), r.To.Format("15:04"), verdict, r.Follows)
	fmt.Fprintf(w, "    %s\n", r.Figures.Text())
}

func (t PastTraffic) write(w io.Writer, share int) {
	if t.Primary.All == 0 {
		fmt.Fprintln(w, "  the primary got no requests in this time")
		return
	}
	bad := fmt.Sprintf("%.3g %% of the primary's bad", 100*t.Bad)
	if t.IsAssumed {
		bad = "none of the primary's bad (half a request is assumed)"
	}
	fmt.Fprintf(w, "  requests: %s/min on average, %s; %d %% for the canary are %s/min\n", rateText(t.PerMinute), bad, share,
		rateText(t.CanaryPerMinute))
	for _, e := range t.Expected {
		fmt.Fprintf(w, "  %s: %s\n", e.name(), e.text())
	}
}

func (e ExpectedDecision) name() string {
	if e.Times == 1 {
		return "a canary as good as the primary"
	}
	return fmt.Sprintf("a canary %.0f times as bad", e.Times)
}

// text describes the decision: "bad after about 20 min".
func (e ExpectedDecision) text() string {
	if e.Verdict == string(analysis.Undecided) || e.Minutes == 0 {
		return "no verdict"
	}
	return e.Verdict + " after about " + roundMinutes(e.Minutes) + " of requests"
}

// rateText writes a number of requests in a minute.
func rateText(perMinute float64) string {
	if perMinute < 10 {
		return fmt.Sprintf("%.1f", perMinute)
	}
	return fmt.Sprintf("%.0f", perMinute)
}

// roundMinutes writes minutes as precisely as an average is worth.
func roundMinutes(m float64) string {
	switch {
	case m < 1.5:
		return "1 min"
	case m < 120:
		return fmt.Sprintf("%.0f min", m)
	case m < 48*60:
		return fmt.Sprintf("%.0f h", m/60)
	}
	return fmt.Sprintf("%.0f days", m/60/24)
}
