package report

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
)

// Report is how a command ended for one service.
type Report struct {
	Name       string // cluster/service, or the command if it ended before it had a service
	Outcome    string // an outcome of a deployment, or: paused, waiting, no changes, error
	Exit       int
	Region     string
	Deployment string // its ID; empty: there is none
	From       string // family:revision that served before
	Revision   string // family:revision that serves now; empty: unknown
	URL        string // of the service in the AWS console; empty: a local AWS
	Took       time.Duration
	Cause      string
	Log        []string // the last lines of failed containers
	Next       string
	Stages     []Stage
	Warnings   []string
}

// Stage is what a stage did.
type Stage struct {
	Number  int // from 1; 0: the rollback
	Name    string
	Does    string
	Status  string // done, failed, running, the word by which the deployment ended or was paused; empty: it has not begun
	Took    time.Duration
	Weights *sluice.Weights // that AWS returned at last; nil: it set none
	Gates   []sluice.GateRead
	Cause   string

	Primary, Canary sluice.RequestCount // of the complete minutes of the stage
	Counted         bool                // there are such minutes
	began           time.Time
}

// Requests describes the requests that CloudWatch counted during the stage. It is empty without figures.
func (s Stage) Requests() string {
	if !s.Counted {
		return ""
	}
	return "primary " + s.Primary.String() + ", canary " + s.Canary.String()
}

// Of returns the stages and the warnings of a deployment by its plan and its events.
func Of(pl *plan.Plan, events []sluice.Envelope) (r Report) {
	r.From, r.Region = pl.From, pl.Region
	for _, s := range append(slices.Clone(pl.Stages), pl.Rollback) {
		r.Stages = append(r.Stages, Stage{Number: s.Index + 1, Name: s.Name, Does: mode.StageText(pl, s)})
	}
	rollback := len(pl.Stages)
	r.Stages[rollback].Number = 0
	now := &Stage{} // of no stage
	for _, e := range events {
		switch ev := e.Open().(type) {
		case sluice.StageStarted:
			if ev.Index <= rollback {
				now = &r.Stages[ev.Index]
				now.begin(e.At)
			}
		case sluice.Warned:
			if !slices.Contains(r.Warnings, ev.Message) {
				r.Warnings = append(r.Warnings, ev.Message)
			}
		case sluice.Noted:
			if ev.Log != "" {
				r.Log = append(r.Log, ev.Message)
				r.Log = r.Log[max(0, len(r.Log)-maxLogLines):]
			}
		default:
			now.apply(e)
		}
	}
	if r.Stages[rollback].Status == "" {
		r.Stages = r.Stages[:rollback]
	}
	return r
}

// maxLogLines is how many lines of failed containers a report has.
const maxLogLines = 10

// begin notes that the stage begins, or begins again.
func (s *Stage) begin(at time.Time) {
	s.Status, s.Cause = "running", ""
	if s.began.IsZero() {
		s.began = at
	}
}

// apply updates the stage by an event within it.
func (s *Stage) apply(e sluice.Envelope) {
	switch ev := e.Open().(type) {
	case sluice.StageEnded:
		s.Status, s.Cause, s.Took = ev.Result(), ev.Cause, e.At.Sub(s.began)
	case sluice.DeploymentPaused:
		s.stop("paused", e.At)
	case sluice.DeploymentEnded:
		s.stop(string(ev.Outcome), e.At)
	case sluice.TrafficShifted:
		if w, err := sluice.NewWeights(ev.ToPrimary, ev.ToCanary); err == nil {
			s.Weights = &w
		}
	case sluice.RequestsCounted:
		s.Counted = addCount(&s.Primary, ev.Primary) || s.Counted
		s.Counted = addCount(&s.Canary, ev.Canary) || s.Counted
	case sluice.GateRead:
		i := slices.IndexFunc(s.Gates, func(g sluice.GateRead) bool { return g.Gate == ev.Gate })
		if i < 0 {
			s.Gates = append(s.Gates, ev)
			return
		}
		s.Gates[i] = ev
	}
}

// stop sets a stage that runs or is paused to the word by which the deployment ended, or was paused.
func (s *Stage) stop(word string, at time.Time) {
	if s.Status == "running" || s.Status == "paused" {
		s.Status, s.Took = word, at.Sub(s.began)
	}
}

// addCount adds the requests of a minute. It reports whether there are figures of it.
func addCount(to, more *sluice.RequestCount) bool {
	if more == nil {
		return false
	}
	to.Requests += more.Requests
	to.Errors += more.Errors
	return true
}

// IsFailure reports whether the command failed. A deployment that waits for approval has not.
func (r Report) IsFailure() bool {
	return r.Exit != sluice.ExitDone && r.Exit != sluice.ExitAwaitApprove && r.Exit != sluice.ExitChanges
}

// Title says in a few words how the command ended.
func (r Report) Title() string { return r.Name + ": " + r.Outcome }

// Message returns the cause and the next step.
func (r Report) Message() string {
	m := cmp.Or(r.Cause, r.Outcome)
	if r.Next != "" {
		m += "\nnext: " + r.Next
	}
	return m
}

// Worst returns the report with the worst exit code, the first of equals. There must be one.
func Worst(all []Report) Report {
	codes := make([]int, len(all))
	for i, r := range all {
		codes[i] = r.Exit
	}
	worst := sluice.WorstExit(codes...)
	return all[slices.Index(codes, worst)]
}

func (s Stage) status() string { return cmp.Or(s.Status, "not started") }

func (s Stage) title() string {
	if s.Number == 0 {
		return s.Name
	}
	return strconv.Itoa(s.Number) + " " + s.Name
}
