package cli

import (
	"fmt"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// progressBoard is the progress of a deployment, computed from its events.
type board struct {
	plan     *plan.Plan
	began    time.Time
	stages   []boardStage // the last one is the rollback
	rows     boardRows
	live     sluice.Weights // as AWS last returned them
	asked    sluice.Weights
	current  string // the wait or the write in progress
	silent   string // says that AWS does not respond; empty: AWS responds
	failures []sluice.FailureSeen
	ended    time.Time // of the deployment; zero: it runs
}

type boardStage struct {
	status       string // "", running, done, failed
	began, ended time.Time
}

func newBoard(p *plan.Plan) *board {
	b := &board{plan: p, stages: make([]boardStage, len(p.Stages)+1), rows: rowsOf(p)}
	if len(p.Rollback.Routes) > 0 {
		b.live = p.Rollback.Routes[0].Weights
		b.asked = b.live
	} else if p.Discovered() {
		b.live, b.asked = sluice.CanaryShare(0), sluice.CanaryShare(0)
	}
	return b
}

// requestedWeights returns the weights that a stage sets: of listener rules, or of the tasks under
// a Cloud Map name. ok is false if the stage sets none.
func asks(p *plan.Plan, s plan.Stage) (w sluice.Weights, ok bool) {
	switch {
	case len(s.Routes) > 0:
		return s.Routes[0].Weights, true
	case !p.Discovered():
		return w, false
	case s.Weights != nil:
		return *s.Weights, true
	}
	return sluice.CanaryShare(0), s.Name == appfile.StageCanaryClean || s.Name == appfile.StageSync || s.Name == appfile.StageRollback
}

// applyEvent updates the board by one event.
func (b *board) see(e sluice.Envelope) {
	if b.began.IsZero() {
		b.began = e.At
	}
	switch ev := e.Open().(type) {
	case sluice.Unanswered:
		b.silent = ""
		if !ev.Over {
			b.silent = ev.Text()
		}
	case sluice.StageStarted:
		b.start(ev.Index, e.At)
	case sluice.StageEnded:
		b.end(ev, e.At)
	case sluice.CapacityChanged:
		b.rows.see(ev)
	case sluice.TrafficShifted:
		if w, err := sluice.NewWeights(ev.ToPrimary, ev.ToCanary); err == nil {
			b.live = w
		}
	case sluice.FailureSeen:
		b.fail(ev)
	case sluice.Waiting, sluice.ApprovalAwaited, sluice.DeploymentPaused:
		b.current = say(e).text
		if _, ok := e.Open().(sluice.DeploymentPaused); ok {
			b.silent = ""
		}
	case sluice.Writing:
		b.current = ev.Operation + " " + short(ev.Resource)
	case sluice.Wrote, sluice.Approved:
		b.current = ""
	case sluice.DeploymentEnded:
		b.ended, b.current = e.At, ""
		b.halt(e.At)
	}
}

// stopRunning sets running stages to stopped, because the deployment has ended.
func (b *board) halt(at time.Time) {
	for i := range b.stages {
		if s := &b.stages[i]; s.status == "running" {
			s.status, s.ended = "stopped", at
		}
	}
}

func (b *board) start(index int, at time.Time) {
	if index >= len(b.stages) {
		return
	}
	s := &b.stages[index]
	if s.began.IsZero() {
		s.began = at
	}
	s.status, b.current, b.ended = "running", "", time.Time{}
	if w, ok := asks(b.plan, b.plan.Stage(index)); ok {
		b.asked = w
	}
}

func (b *board) end(ev sluice.StageEnded, at time.Time) {
	if ev.Index < len(b.stages) {
		b.stages[ev.Index].status, b.stages[ev.Index].ended = ev.Status, at
	}
	b.current = ""
	if ev.Status != "done" {
		return
	}
	switch ev.Name {
	case appfile.StageCanaryClean, appfile.StageSync, appfile.StageRollback:
		b.rows.settle(ev.Name == appfile.StageRollback, true)
		if b.plan.ByCodeDeploy() && b.live.Valid() {
			b.live = sluice.CanaryShare(0) // the new revision of CodeDeploy is the primary now
		}
	case appfile.StagePrimaryRollout:
		if ev.Index < len(b.plan.Stages) && !b.plan.Stages[ev.Index].KeepOld {
			b.rows.settle(false, false)
		}
	}
}

func (b *board) fail(f sluice.FailureSeen) {
	for i := range b.failures {
		if b.failures[i].Cause == f.Cause && b.failures[i].Variant == f.Variant {
			b.failures[i] = f
			return
		}
	}
	b.failures = append(b.failures, f)
}

// renderLines returns the board as lines for a terminal. If the height is too small, it leaves out
// finished stages first.
func (b *board) view(now time.Time, width, height int, p paint) []string {
	if !b.ended.IsZero() {
		now = b.ended
	}
	head := p.bold(b.plan.Cluster+"/"+b.plan.Service) + "  " + revisions(b.plan) + "  " + elapsed(now.Sub(b.began))
	foot := b.foot(p)
	stages := b.stageLines(now, p)
	if room := height - len(foot) - 2; height > 0 && len(stages) > room {
		stages = stages[b.firstShown(len(stages), max(room, 1)):]
		stages = stages[:min(len(stages), max(room, 1))]
	}
	all := append([]string{head}, append(stages, foot...)...)
	for i := range all {
		all[i] = p.clip(all[i], width)
	}
	return all
}

// firstVisible returns the index of the first stage line to show. It is chosen so that the running
// stage is visible.
func (b *board) firstShown(lines, room int) int {
	running := 0
	for i, s := range b.stages[:lines] {
		if s.status != "" {
			running = i
		}
	}
	return max(0, min(running-room/2, lines-room))
}

func (b *board) stageLines(now time.Time, p paint) []string {
	var all []string
	for i, s := range b.stages {
		if i == len(b.plan.Stages) && s.status == "" {
			break // no rollback
		}
		what := b.plan.Stage(i)
		text := fmt.Sprintf("%2d %s", i+1, pad(what.Name, 20)) + " " + stageWords(b.plan, what)
		if i == len(b.plan.Stages) {
			text = "   " + pad(what.Name, 20) + " " + stageWords(b.plan, what)
		}
		all = append(all, b.mark(s, now, p)+text)
	}
	return all
}

func (b *board) mark(s boardStage, now time.Time, p paint) string {
	switch s.status {
	case "done":
		return p.good(pad("  done", 10)) + pad(elapsed(s.ended.Sub(s.began)), 7)
	case "failed":
		return p.bad(pad("  failed", 10)) + pad(elapsed(s.ended.Sub(s.began)), 7)
	case "running":
		return p.bold(pad("  running", 10)) + pad(elapsed(now.Sub(s.began)), 7)
	}
	return p.dim(pad("  -", 17))
}

// footLines returns the lines below the stages: variants with their weights, the current wait, and
// failures.
func (b *board) foot(p paint) []string {
	var all []string
	all = append(all, b.rows.lines(b.asked, b.live, !b.plan.Rolls() || b.plan.Beside())...)
	if b.current != "" {
		all = append(all, "  "+p.dim(b.current))
	}
	if b.silent != "" {
		all = append(all, "  "+p.bad(b.silent))
	}
	for _, f := range b.failures {
		all = append(all, "  "+p.bad(failureWords(f)))
	}
	return all
}
