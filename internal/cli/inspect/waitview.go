package inspect

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/report"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/cli/show"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
	"github.com/sluice-ecs/sluice/internal/watch"
)

// WaitSchema names the format of the last line of `sluice wait --output json`.
const WaitSchema = "sluice.wait/1"

// waitView prints the progress of a wait, one line per change. Text output has the progress on stderr
// and the results on stdout. JSON output has both on stdout.
type waitView struct {
	session *session.Session
	several bool // several services: each line names its service
	began   time.Time
	json    *show.JSONLines
	wants   sluice.Outcome // any other one is a failure

	mu       sync.Mutex // several waits report concurrently
	reported map[string]*reportedState
}

// reportedState is what the view has printed about one service.
type reportedState struct {
	changes watch.Changes
	seq     int64
}

func newWaitView(s *session.Session, several bool, began time.Time) *waitView {
	v := &waitView{session: s, several: several, began: began, reported: map[string]*reportedState{},
		wants: sluice.Succeeded}
	if s.Flags.Output == session.JSON {
		v.json = s.Terminal().NewJSONLines("")
	}
	return v
}

// handleUpdate prints the changes of an update.
func (v *waitView) handleUpdate(s watch.Update) {
	v.mu.Lock()
	defer v.mu.Unlock()
	name := s.Target.Name()
	t := v.reported[name]
	if t == nil {
		t = &reportedState{}
		v.reported[name] = t
	}
	for _, e := range t.changes.Events(s) {
		v.printEvent(s, t, e)
	}
}

func (v *waitView) printEvent(s watch.Update, t *reportedState, e sluice.Event) {
	if v.json != nil {
		t.seq++
		deployment := s.Verdict.Deployment
		if deployment == "" {
			deployment = s.Target.Name()
		}
		sealed := sluice.Seal(deployment, s.Target.Name(), e)
		sealed.Seq, sealed.At, sealed.Revision = t.seq, s.At, s.Verdict.Revision
		v.json.ShowEvent(sealed)
		return
	}
	text := show.WaitEvent(v.session.Paint, e)
	if text == "" {
		return
	}
	who := ""
	if v.several {
		who = v.session.Paint.Bold(s.Target.Name()) + " "
	}
	fmt.Fprintf(v.session.Env.Err, "%s %s%s\n", v.session.Paint.Dim(show.FormatElapsed(s.At.Sub(v.began))), who, text)
}

// waitResult is the result of the wait for one service, in JSON.
type waitResult struct {
	Cluster    string          `json:"cluster"`
	Service    string          `json:"service"`
	Outcome    sluice.Outcome  `json:"outcome,omitempty"`
	ExitCode   int             `json:"exitCode"`
	Revision   string          `json:"revision,omitempty"`
	Deployment string          `json:"deployment,omitempty"`
	By         string          `json:"by,omitempty"`      // revision rolled back to, or superseded by
	Callers    verdict.Callers `json:"callers,omitempty"` // served, none; empty: not read
	Detail     string          `json:"detail,omitempty"`
	Causes     []waitCause     `json:"causes"`
	Logs       []diagnosis.Log `json:"logs,omitempty"`
	Unread     []string        `json:"unread,omitempty"`
	Next       string          `json:"next,omitempty"`
	Error      string          `json:"error,omitempty"`
}

// waitCause is a cause of a failure with its advice.
type waitCause struct {
	diagnosis.Cause
	Next string `json:"next"`
}

func reportCauses(all []diagnosis.Cause) []waitCause {
	out := []waitCause{}
	for _, c := range all {
		out = append(out, waitCause{c, c.Advice()})
	}
	return out
}

func (v *waitView) newResult(w waitOutcome) waitResult {
	d := w.update.Verdict
	r := waitResult{Cluster: sluice.ARNName(w.update.Target.Cluster), Service: sluice.ARNName(w.update.Target.Service),
		Outcome:  d.Outcome,
		ExitCode: v.exitCode(d.Outcome), Revision: d.Revision, Deployment: d.Deployment, By: d.By, Callers: d.Callers, Detail: d.Detail,
		Causes: reportCauses(d.Causes), Logs: d.Logs, Unread: d.Unread, Next: d.Next}
	if d.Outcome == v.wants {
		r.Next = ""
	}
	if w.reached != "" {
		r.ExitCode, r.Detail, r.Next = sluice.ExitDone, w.update.ReachedText(w.reached), ""
	}
	if w.err != nil {
		r.ExitCode, r.Error, r.Next = session.ExitCode(w.err), w.err.Error(), sluice.NextStep(w.err)
	}
	r.Next = v.session.NextStep(r.Next)
	return r
}

// printResults prints the results of all waits.
func (v *waitView) printResults(ctx context.Context, all []waitOutcome) {
	for _, w := range all {
		if w.err == nil {
			v.session.Reports.Add(v.report(ctx, w))
		}
	}
	if v.json != nil {
		v.json.WriteHead()
		results := make([]waitResult, 0, len(all))
		for _, w := range all {
			results = append(results, v.newResult(w))
		}
		v.json.WriteLine(struct {
			Schema  string       `json:"schema"`
			Results []waitResult `json:"results"`
		}{WaitSchema, results})
		return
	}
	for _, w := range all {
		switch {
		case w.reached != "":
			fmt.Fprintf(v.session.Env.Out, "%s: %s\n", w.update.Target.Name(), w.update.ReachedText(w.reached))
		case w.err == nil:
			v.printVerdict(w.update)
		case ctx.Err() != nil && len(all) > 1:
			fmt.Fprintf(v.session.Env.Out, "%s: not decided: %s\n", w.target.Name(),
				cmp.Or(w.update.Verdict.Detail, "AWS was not read yet"))
		}
	}
}

func (v *waitView) printVerdict(s watch.Update) {
	p, out := v.session, v.session.PaintFor(v.session.Env.Out)
	text, failed := string(s.Verdict.Outcome)+": "+s.Verdict.Detail, s.Verdict.Outcome != v.wants
	if failed {
		text = out.Bad(text)
	} else {
		text = out.Good(text)
	}
	fmt.Fprintf(p.Env.Out, "%s: %s\n", s.Target.Name(), text)
	if s.Verdict.Next != "" && failed {
		p.PrintNext(s.Verdict.Next)
	}
	if failed {
		r := report.Report{Name: s.Target.Name(), Outcome: string(s.Verdict.Outcome), Cause: s.Verdict.Detail,
			Next: p.NextStep(s.Verdict.Next)}
		p.WriteAnnotation(p.Env.Err, "error", r.Message(), show.AnnotationTitle(r.Title()))
	}
}

// report returns the result of a wait, for the CI system.
func (v *waitView) report(ctx context.Context, w waitOutcome) report.Report {
	d := v.newResult(w)
	r := report.Report{Name: d.Cluster + "/" + d.Service, Outcome: cmp.Or(string(d.Outcome), w.reached), Exit: d.ExitCode,
		Region: w.region, Deployment: d.Deployment, Revision: cmp.Or(d.By, d.Revision), Next: d.Next,
		URL: session.ServicePage(journal.Endpoint{URL: v.session.EndpointURL(ctx)}, w.region, d.Cluster, d.Service)}
	if r.IsFailure() {
		r.Cause = d.Detail
	}
	return r
}
