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
	Gate     string `json:"gate"`
	Stage    string `json:"stage,omitempty"`    // empty: the whole pipeline
	Duration string `json:"duration,omitempty"` // of the stage
	Share    int    `json:"share"`              // percent of the requests that the canary gets in the stage
	gates.Replay
	Problem string `json:"problem,omitempty"`
	Next    string `json:"next,omitempty"`
}

func newGateTestReport(app *appfile.Application, from gates.Past, all []gates.Replay) *GateTestReport {
	r := &GateTestReport{Schema: gateTestSchema, File: app.File, From: from.Span.From, To: from.Span.To}
	for _, x := range all {
		g := GateReplay{Gate: x.Gate.Name, Stage: x.Gate.Stage, Share: x.Gate.Share, Replay: x}
		if x.Gate.Duration > 0 {
			g.Duration = x.Gate.Duration.String()
		}
		if x.Err != nil {
			r.Unread++
			g.Problem, g.Next = x.Err.Error(), sluice.NextStep(x.Err)
		}
		r.Gates = append(r.Gates, g)
	}
	return r
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
	compares := g.Replay.Gate.Counts() || g.Replay.Gate.Compares()
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
	case len(g.Runs) == 0 && compares:
		fmt.Fprintln(w, "  no canary got requests in this time, so the gate had nothing to judge")
	case len(g.Runs) == 0:
		fmt.Fprintln(w, "  the query had no values in this time")
	case !compares:
		g.writeSummary(w)
	}
	for _, run := range g.Runs {
		if compares || run.Verdict == analysis.Bad {
			writeRun(w, run)
		}
	}
	if g.Traffic != nil {
		writePastTraffic(w, *g.Traffic, g.Share)
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
	count := map[analysis.Verdict]int{}
	for _, run := range g.Runs {
		count[run.Verdict]++
	}
	fmt.Fprintf(w, "  %s of %s, one after the other: %d good, %d bad, %d undecided\n", sluice.Plural(len(g.Runs), "stage"),
		g.Runs[0].To.Sub(g.Runs[0].From), count[analysis.Good], count[analysis.Bad], count[analysis.Undecided])
}

func writeRun(w io.Writer, r gates.ReplayedRun) {
	verdict := string(r.Verdict)
	if r.Minutes > 0 && r.Verdict != analysis.Undecided {
		verdict += fmt.Sprintf(" after %.0f min", r.Minutes)
	}
	fmt.Fprintf(w, "  %s–%s  %s: %s\n", r.From.Format(dayAndTime), r.To.Format("15:04"), verdict, r.Follows)
	fmt.Fprintf(w, "    %s\n", r.Figures.Text())
}

func writePastTraffic(w io.Writer, t gates.Traffic, share int) {
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
		fmt.Fprintf(w, "  %s: %s\n", canaryName(e.Times), expectedText(e))
	}
}

func canaryName(timesAsBad float64) string {
	if timesAsBad == 1 {
		return "a canary as good as the primary"
	}
	return fmt.Sprintf("a canary %.0f times as bad", timesAsBad)
}

// expectedText describes the decision: "bad after about 20 min".
func expectedText(e gates.ExpectedVerdict) string {
	if e.Verdict == analysis.Undecided || e.Minutes == 0 {
		return "no verdict"
	}
	return string(e.Verdict) + " after about " + roundMinutes(e.Minutes) + " of requests"
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
