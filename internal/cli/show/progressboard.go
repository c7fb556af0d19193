package show

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/forecast"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/printable"
)

// Board is the progress of a deployment, computed from its events.
type Board struct {
	plan      *plan.Plan
	began     time.Time
	stages    []boardStage // the last one is the rollback
	forecast  forecast.Forecast
	rows      boardRows
	actual    sluice.Weights // as AWS last returned them
	requested sluice.Weights
	current   string                // the wait or the write in progress
	asks      bool                  // current is a question to people
	silence   string                // says that AWS does not respond; empty: AWS responds
	requests  string                // the requests of the last minute; empty: the canary gets none
	measured  *sluice.MeasuredShare // of the canary, since the weights are as they are; nil: unknown
	shifted   time.Time             // when the weights changed last
	gates     []sluice.GateRead     // of the waits that run, by name
	failures  []sluice.FailureSeen
	logs      []string  // the last lines of failed containers
	ended     time.Time // of the deployment; zero: it runs
}

type boardStage struct {
	status       string // "", running, done, failed; the outcome of the deployment, or paused, which ended it
	began, ended time.Time
}

func NewBoard(p *plan.Plan) *Board {
	b := &Board{plan: p, stages: make([]boardStage, len(p.Stages)+1), rows: initialRows(p),
		forecast: mode.NewForecast(p, forecast.Timings{Tasks: servingTasks(p)})}
	if len(p.Rollback.Routes) > 0 {
		b.actual = p.Rollback.Routes[0].Weights
		b.requested = b.actual
	} else if p.CountsShares() {
		b.actual, b.requested = sluice.CanaryShare(0), sluice.CanaryShare(0)
	}
	return b
}

// servingTasks returns the desired count of the service when the plan was made, or 0.
func servingTasks(p *plan.Plan) int {
	if p.Serving == nil {
		return 0
	}
	return p.Serving.Desired
}

// requestedWeights returns the weights that a stage sets: of listener rules, or of the tasks under
// a Cloud Map name. ok is false if the stage sets none.
func requestedWeights(p *plan.Plan, s plan.Stage) (w sluice.Weights, ok bool) {
	switch {
	case len(s.Routes) > 0:
		return s.Routes[0].Weights, true
	case !p.CountsShares():
		return w, false
	case s.Weights != nil:
		return *s.Weights, true
	}
	return sluice.CanaryShare(0), s.SendsAllToPrimary()
}

// ApplyEvent updates the board by one event.
func (b *Board) ApplyEvent(e sluice.Envelope) {
	if b.began.IsZero() {
		b.began = e.At
	}
	switch ev := e.Open().(type) {
	case sluice.Unanswered:
		b.silence = ""
		if !ev.Over {
			b.silence = ev.Text()
		}
	case sluice.StageStarted:
		b.startStage(ev.Index, e.At)
	case sluice.StageEnded:
		b.endStage(ev, e.At)
	case sluice.CapacityChanged:
		b.rows.applyCapacity(ev)
	case sluice.TrafficShifted:
		if w, err := sluice.NewWeights(ev.ToPrimary, ev.ToCanary); err == nil {
			b.actual = w
		}
		b.measured, b.shifted = nil, e.At
		if ev.ToCanary == 0 {
			b.requests = ""
		}
	case sluice.RequestsCounted:
		b.requests, b.measured = ev.Text(), ev.Share
		if ev.From.Before(b.shifted) { // a minute with other weights
			b.measured = nil
		}
	case sluice.GateRead:
		b.addGate(ev)
	case sluice.FailureSeen:
		b.addFailure(ev)
	case sluice.Noted:
		if ev.Log != "" {
			b.logs = append(b.logs, ev.Message)
			b.logs = b.logs[max(0, len(b.logs)-maxLogLines):]
		}
	case sluice.Waiting, sluice.ApprovalAwaited, sluice.DeploymentPaused:
		b.current = eventLine(e).text
		switch e.Open().(type) {
		case sluice.DeploymentPaused:
			b.silence = ""
			b.stopRunning("paused", e.At)
		case sluice.ApprovalAwaited:
			b.asks = true
		}
	case sluice.Writing:
		if !b.isWaiting() {
			b.current = ev.Operation + " " + ev.Resource
		}
	case sluice.Wrote:
		if !b.isWaiting() {
			b.current = ""
		}
	case sluice.Approved:
		b.current, b.asks = "", false
	case sluice.DeploymentEnded:
		b.asks = false
		b.ended, b.current, b.requests, b.measured, b.gates = e.At, "", "", nil, nil
		b.stopRunning(string(ev.Outcome), e.At)
	}
}

// isWaiting reports whether a stage that only waits is running. Its writes keep the claim, and the wait goes on.
func (b *Board) isWaiting() bool {
	for i, s := range b.plan.Stages {
		if s.IsWait() && b.stages[i].status == "running" {
			return true
		}
	}
	return false
}

// stopRunning sets running and paused stages to the word by which the deployment ended, or was paused.
func (b *Board) stopRunning(word string, at time.Time) {
	for i := range b.stages {
		if s := &b.stages[i]; s.status == "running" || s.status == "paused" {
			s.status, s.ended = word, at
		}
	}
}

func (b *Board) startStage(index int, at time.Time) {
	if index >= len(b.stages) {
		return
	}
	s := &b.stages[index]
	if s.began.IsZero() {
		s.began = at
	}
	s.status, b.current, b.asks, b.ended = "running", "", false, time.Time{}
	if w, ok := requestedWeights(b.plan, b.plan.Stage(index)); ok {
		b.requested = w
	}
}

func (b *Board) endStage(ev sluice.StageEnded, at time.Time) {
	if ev.Index < len(b.stages) {
		b.stages[ev.Index].status, b.stages[ev.Index].ended = ev.Result(), at
	}
	b.current, b.asks, b.gates = "", false, nil
	if ev.Status != "done" {
		return
	}
	switch s := (plan.Stage{Name: ev.Name}); {
	case s.SendsAllToPrimary():
		b.rows.removeFinished(s.RollsBack(), true)
		if b.plan.Mode().CanaryTakesOver() && b.actual.Valid() {
			b.actual = sluice.CanaryShare(0) // the new revision of CodeDeploy is the primary now
		}
	case s.ReplacesPrimary():
		if ev.Index < len(b.plan.Stages) && !b.plan.Stages[ev.Index].KeepOld {
			b.rows.removeFinished(false, false)
		}
	}
}

// addGate keeps the newest figures of a gate.
func (b *Board) addGate(g sluice.GateRead) {
	if i := slices.IndexFunc(b.gates, func(o sluice.GateRead) bool { return o.Gate == g.Gate }); i >= 0 {
		b.gates[i] = g
		return
	}
	b.gates = append(b.gates, g)
}

func (b *Board) addFailure(f sluice.FailureSeen) {
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
func (b *Board) renderLines(now time.Time, width, height int, p Paint) []string {
	head := wrapAt(p.Bold(b.plan.Cluster+"/"+b.plan.Service)+"  "+PlanRevisions(b.plan)+"  "+
		FormatElapsed(b.elapsed(now))+p.Dim(b.remainingText(now)), width, 2)
	foot := b.footLines(p, width)
	if !b.ended.IsZero() {
		now = b.ended
	}
	stages, room := b.stageLines(now, p, width), height-len(foot)-len(head)-1
	if height > 0 && len(stages) > room {
		stages = b.stageLines(now, p, 0) // one line each, cut below
	}
	if height > 0 && len(stages) > room {
		stages = stages[b.firstVisible(len(stages), max(room, 1)):]
		stages = stages[:min(len(stages), max(room, 1))]
	}
	all := slices.Concat(head, stages, foot)
	for i := range all {
		all[i] = p.ClipLine(all[i], width)
	}
	return all
}

// remainingText returns how long the stages still take by the forecast of the plan, which assumes a
// good version. It is empty before the first stage, after a failure, in a rollback and at the end.
func (b *Board) remainingText(now time.Time) string {
	var left time.Duration
	begun, people := false, b.asks
	for i, s := range b.stages {
		of := b.plan.Stage(i)
		switch {
		case i == len(b.plan.Stages):
			begun = begun && s.status == ""
		case s.status == "running":
			begun = true
			left += max(0, b.forecast.Stages[i]-now.Sub(s.began))
			people = people || of.NeedsApproval()
		case s.status == "":
			left += b.forecast.Stages[i]
			people = people || of.NeedsApproval()
		}
	}
	switch left = left.Round(time.Second); {
	case !begun || !b.ended.IsZero() || left == 0 || len(b.failures) > 0:
		return ""
	case people:
		return ", about " + FormatDuration(left) + " left without approvals"
	}
	return ", about " + FormatDuration(left) + " left"
}

// firstVisible returns the index of the first stage line to show. It is chosen so that the running
// stage is visible.
func (b *Board) firstVisible(lines, room int) int {
	running := 0
	for i, s := range b.stages[:lines] {
		if s.status != "" {
			running = i
		}
	}
	return max(0, min(running-room/2, lines-room))
}

// StageStatuses returns the status of each stage: done, failed, running, the word by which the deployment ended or was
// paused, or empty for one that has not begun. The last one is that of the rollback, if it has begun.
func (b *Board) StageStatuses() (all []string) {
	for i, s := range b.stages {
		if i == len(b.plan.Stages) && s.status == "" {
			break // no rollback
		}
		all = append(all, s.status)
	}
	return all
}

// RequestedWeights returns the weights that the last stage with weights requested, or nil.
func (b *Board) RequestedWeights() *sluice.Weights {
	if w := b.requested; w.Valid() {
		return &w
	}
	return nil
}

// WaitingText returns what the deployment waits for, or that AWS does not respond.
func (b *Board) WaitingText() string { return cmp.Or(b.silence, b.current) }

// GateTexts returns the figures of the gates of the stage that runs.
func (b *Board) GateTexts() (all []string) {
	for _, g := range b.gates {
		all = append(all, g.Text())
	}
	return all
}

// stageTextColumn is where the text of a stage begins: behind its status, time, number and name.
const stageTextColumn = 17 + 2 + 1 + 20 + 1

// stageLines returns the stages. A text that is too wide for the terminal continues below; a width of 0: it does not.
func (b *Board) stageLines(now time.Time, p Paint, width int) []string {
	var all []string
	for i, s := range b.stages {
		if i == len(b.plan.Stages) && s.status == "" {
			break // no rollback
		}
		what := b.plan.Stage(i)
		text := fmt.Sprintf("%2d %s", i+1, PadRight(what.Name, 20)) + " " + mode.StageText(b.plan, what)
		if i == len(b.plan.Stages) {
			text = "   " + PadRight(what.Name, 20) + " " + mode.StageText(b.plan, what)
		}
		all = append(all, wrapAt(b.statusColumn(s, now, p)+text, width, stageTextColumn)...)
	}
	return all
}

func (b *Board) statusColumn(s boardStage, now time.Time, p Paint) string {
	paint, ended := p.Warn, s.ended
	switch s.status {
	case "", string(sluice.RolledBack): // the line of the rollback shows how it ended
		return p.Dim(PadRight("  -", 17))
	case "done":
		paint = p.Good
	case "failed":
		paint = p.Bad
	case "running":
		paint, ended = p.Bold, now
	}
	word := PadRight("  "+s.status, 9) + " "
	return paint(word) + PadRight(FormatElapsed(ended.Sub(s.began)), 17-len(word))
}

// footLines returns the lines below the stages: variants with their weights, the current wait, and
// failures.
func (b *Board) footLines(p Paint, width int) []string {
	all := b.rows.renderRows(b.requested, b.actual, b.measured, b.plan.Mode().ReportsCanary(), width)
	add := func(text string) {
		if width >= narrowest {
			text = wrapLine("  "+text, width)
		} else {
			text = "  " + text
		}
		all = append(all, strings.Split(text, "\n")...)
	}
	if b.requests != "" {
		add(b.requests)
	}
	for _, g := range b.gates {
		add(gateLine(g, p))
	}
	switch {
	case b.asks:
		add(b.current)
	case b.current != "":
		add(p.Dim(p.ARNs(b.current)))
	}
	if b.silence != "" {
		add(p.Bad(b.silence))
	}
	for _, f := range b.failures {
		add(p.Bad(p.ARNs(failureText(f))))
	}
	for _, l := range b.logs {
		add(p.Dim(printable.Line(l)))
	}
	return all
}

// maxLogLines is how many lines of failed containers the board shows. The history has all.
const maxLogLines = 5

// gateLine returns the figures of a gate.
func gateLine(g sluice.GateRead, p Paint) string {
	if g.Verdict == sluice.GateBad {
		return p.Bad(g.Text())
	}
	return g.Text()
}
