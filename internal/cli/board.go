package cli

import (
	"fmt"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// board is where a deployment stands, as its events tell.
type board struct {
	plan     *plan.Plan
	began    time.Time
	stages   []boardStage // the rollback last
	rows     boardRows
	live     sluice.Weights // read back last
	asked    sluice.Weights
	current  string // what is waited for or written
	silent   string // that AWS does not answer; empty: it does
	failures []sluice.FailureSeen
	ended    time.Time // of the deployment; zero: it has not
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

// asks is what a stage asks for: weights of rules, or a share by a name.
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

// see takes in an event.
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

// halt: a stage that was under way when the deployment ended ended with it.
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
			b.live = sluice.CanaryShare(0) // what CodeDeploy moved the traffic to is the primary now
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

// view draws the board for a terminal. Finished stages give way if the height
// does not hold all.
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

// firstShown keeps the running stage in sight.
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

// foot is what the stages have in common: variants, weights, failures.
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
