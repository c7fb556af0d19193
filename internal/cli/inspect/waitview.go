package inspect

import (
	"fmt"
	"sync"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/cli/show"
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

	mu       sync.Mutex // several waits report concurrently
	reported map[string]*reportedState
}

// reportedState is what the view has printed about one service.
type reportedState struct {
	detail   string
	counts   map[string]int // of causes
	logs     map[string]bool
	unread   int
	seq      int64
	progress *verdict.CodeTarget
}

func newWaitView(s *session.Session, several bool, began time.Time) *waitView {
	v := &waitView{session: s, several: several, began: began, reported: map[string]*reportedState{}}
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
		t = &reportedState{counts: map[string]int{}, logs: map[string]bool{}}
		v.reported[name] = t
	}
	for _, e := range t.newEvents(s) {
		v.printEvent(s, t, e)
	}
}

// newEvents returns the events of an update that were not printed before.
func (t *reportedState) newEvents(s watch.Update) []sluice.Event {
	all := t.lifecycleEvents(s.CodeTarget)
	for _, c := range s.Verdict.Causes {
		if t.counts[c.Text] < c.Count {
			t.counts[c.Text] = c.Count
			all = append(all, sluice.FailureSeen{Variant: sluice.Primary, Cause: c.Text, Count: c.Count, Task: c.Task})
		}
	}
	for _, l := range s.Verdict.Logs {
		if !t.logs[l.Task] && len(l.Lines) > 0 {
			t.logs[l.Task] = true
			for _, text := range l.Lines {
				all = append(all, sluice.Noted{Message: "log of " + l.Container + ": " + text})
			}
		}
	}
	for _, u := range s.Verdict.Unread[min(t.unread, len(s.Verdict.Unread)):] {
		all = append(all, sluice.Warned{Message: "not read: " + u})
	}
	t.unread = len(s.Verdict.Unread)
	switch {
	case s.Verdict.State == verdict.Ended:
		all = append(all, sluice.DeploymentEnded{Outcome: s.Verdict.Outcome, Cause: s.Verdict.Detail,
			Next: s.Verdict.Next})
	case s.Verdict.Detail != t.detail:
		all = append(all, sluice.Waiting{For: s.Target.Name(), Detail: s.Verdict.Detail})
	}
	t.detail = s.Verdict.Detail
	return all
}

// lifecycleEvents returns the lifecycle events of a CodeDeploy deployment that began or ended.
func (t *reportedState) lifecycleEvents(now *verdict.CodeTarget) (all []sluice.Event) {
	if now == nil {
		return nil
	}
	if t.progress != nil && t.progress.Deployment != now.Deployment {
		t.progress = nil
	}
	for _, e := range now.ChangedSince(t.progress) {
		all = append(all, sluice.LifecycleChanged{Deployment: now.Deployment, Name: e.Name, Status: e.Status,
			Message: e.Message})
	}
	t.progress = now
	return all
}

func (v *waitView) printEvent(s watch.Update, t *reportedState, e sluice.Event) {
	if v.json != nil {
		t.seq++
		deployment := s.Verdict.Deployment
		if deployment == "" {
			deployment = s.Target.Name()
		}
		sealed := sluice.Seal(deployment, s.Target.Name(), e)
		sealed.Seq, sealed.At = t.seq, s.At
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
	By         string          `json:"by,omitempty"` // revision rolled back to, or superseded by
	Detail     string          `json:"detail,omitempty"`
	Causes     []waitCause     `json:"causes"`
	Logs       []diagnosis.Log `json:"logs,omitempty"`
	Unread     []string        `json:"unread,omitempty"`
	Next       string          `json:"next,omitempty"`
	Error      string          `json:"error,omitempty"`
}

type waitCause struct {
	Kind  diagnosis.Kind `json:"kind"`
	Text  string         `json:"text"`
	Count int            `json:"count"`
	Task  string         `json:"task,omitempty"`
	Next  string         `json:"next"`
}

func newWaitResult(w waitOutcome) waitResult {
	v := w.update.Verdict
	r := waitResult{Cluster: sluice.ARNName(w.update.Target.Cluster), Service: sluice.ARNName(w.update.Target.Service),
		Outcome:  v.Outcome,
		ExitCode: v.Outcome.ExitCode(), Revision: v.Revision, Deployment: v.Deployment, By: v.By, Detail: v.Detail,
		Causes: []waitCause{}, Logs: v.Logs, Unread: v.Unread, Next: v.Next}
	for _, c := range v.Causes {
		r.Causes = append(r.Causes, waitCause{c.Kind, c.Text, c.Count, c.Task, c.Kind.Advice()})
	}
	if w.err != nil {
		r.ExitCode, r.Error, r.Next = session.ExitCode(w.err), w.err.Error(), sluice.NextStep(w.err)
	}
	return r
}

// printResults prints the results of all waits.
func (v *waitView) printResults(all []waitOutcome) {
	if v.json != nil {
		v.json.WriteHead()
		results := make([]waitResult, 0, len(all))
		for _, w := range all {
			results = append(results, newWaitResult(w))
		}
		v.json.WriteLine(struct {
			Schema  string       `json:"schema"`
			Results []waitResult `json:"results"`
		}{WaitSchema, results})
		return
	}
	for _, w := range all {
		if w.err == nil {
			v.printVerdict(w.update)
		}
	}
}

func (v *waitView) printVerdict(s watch.Update) {
	p, out := v.session, v.session.PaintFor(v.session.Env.Out)
	text, failed := string(s.Verdict.Outcome)+": "+s.Verdict.Detail, s.Verdict.Outcome != sluice.Succeeded
	if failed {
		text = out.Bad(text)
	} else {
		text = out.Good(text)
	}
	fmt.Fprintf(p.Env.Out, "%s: %s\n", s.Target.Name(), text)
	if s.Verdict.Next != "" {
		fmt.Fprintln(p.Env.Err, "next: "+s.Verdict.Next)
	}
	if failed {
		p.WriteAnnotation(p.Env.Err, "error", s.Target.Name()+": "+s.Verdict.Detail, "")
	}
}
