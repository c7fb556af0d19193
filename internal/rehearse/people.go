package rehearse

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/journal"
)

// onEvent receives each event after it is in the journal.
func (f *field) watch(e sluice.Envelope) {
	fmt.Fprintf(&f.log, "%s [%s] %s %s\n", e.At.Sub(f.from).Round(time.Millisecond), e.Stage, e.Kind, e.Data)
	f.tracer.event(e)
	f.noticing(e)
	f.noticingNames(e)
	f.keeping(e)
	switch ev := e.Open().(type) {
	case sluice.StageStarted:
		if _, begun := f.stages[e.Stage]; !begun {
			f.stages[e.Stage] = e.At
		}
	case sluice.StageEnded:
		f.result.Stages = append(f.result.Stages, Took{e.Stage, e.At.Sub(f.stages[e.Stage])})
		f.stageEnded(ev.Index + 1)
	case sluice.Writing:
		f.setting = ev.Operation == setsScaling
	case sluice.Wrote:
		f.setting = false
		f.writeAnswered()
		if ev.Operation == "ecs:UntagResource" {
			f.unreleased = ev.Cause != "" && f.faulty("5xx", "no-send")
		}
	case sluice.Warned:
		f.unreleased = f.unreleased || strings.HasPrefix(ev.Message, "the claim on the service was not given back") && f.faulty("5xx", "no-send", "throttle")
	case sluice.FailureSeen:
		f.news(e, ev)
	case sluice.TrafficShifted:
		f.claimed(e, ev)
	case sluice.DeploymentEnded:
		f.endsAs(ev.Outcome)
	case sluice.ApprovalAwaited:
		f.approve(ev)
	}
}

// approveStage approves for as many people as are missing.
func (f *field) approve(ev sluice.ApprovalAwaited) {
	f.person = true
	defer func() { f.person = false }()
	for n := range ev.Missing {
		by := fmt.Sprintf("person %d", n+1)
		if n < len(ev.Approvers) {
			by = ev.Approvers[n]
		}
		_, err := f.journal.Command(context.Background(), journal.Command{Deployment: f.id, Kind: journal.Approve, Stage: fmt.Sprint(ev.Index), By: by})
		if err != nil {
			f.broken("approve: %v", err)
		}
	}
}

// scheduleInterventions schedules the interventions that start by time or by a lifecycle event.
func (f *field) hands() {
	if f.Files != nil && f.World.Ready > 0 {
		f.continues() // people continue a user's deployment, as they approve it
	}
	for i, h := range f.Hands {
		switch {
		case h.Write > 0: // see writeAnswered
		case h.Event != "":
			f.clock.Go(func() { f.onceBegun(h.Event, func() { f.once(i) }) })
		case h.Stage == 0:
			f.clock.Go(func() { f.after(h.At, func() { f.once(i) }) })
		}
	}
}

func (f *field) once(i int) {
	if !f.given[i] {
		f.given[i] = true
		f.do(f.Hands[i])
	}
}

// interveneLater schedules an intervention some time after the end of a stage or a write.
func (f *field) soon(i int) {
	if !f.asked[i] {
		f.asked[i] = true
		f.clock.Go(func() { f.after(f.Hands[i].At, func() { f.once(i) }) })
	}
}

// onWriteAnswered performs the interventions that wait for the result of a write.
func (f *field) writeAnswered() {
	f.answered++
	for i, h := range f.Hands {
		if h.Write == f.answered {
			f.soon(i)
		}
	}
}

func (f *field) stageEnded(n int) {
	for i, h := range f.Hands {
		switch {
		case h.Write > 0:
		case h.Stage == n && h.At > 0:
			f.soon(i)
		case h.Stage == n:
			f.once(i)
		}
	}
}

// replayStageEnds performs the interventions that wait for the end of a stage, if only a killed
// process received that event.
func (f *field) catchUp() error {
	stages, err := f.journal.Stages(context.Background(), f.id)
	for _, s := range stages {
		if s.Status == journal.StageDone {
			f.stageEnded(s.Index + 1)
		}
	}
	return err
}

func (f *field) command(kind string) {
	f.person = true
	defer func() { f.person = false }()
	if _, err := f.journal.Command(context.Background(), journal.Command{Deployment: f.id, Kind: kind, By: "somebody"}); err != nil {
		f.broken("%s: %v", kind, err)
	}
}

// afterDelay calls do after d, unless the rehearsal is over.
func (f *field) after(d time.Duration, do func()) {
	f.sleep(d)
	if !f.over {
		do()
	}
}

func (f *field) sleep(d time.Duration) {
	if err := f.clock.Sleep(context.Background(), d); err != nil {
		f.broken("sleep: %v", err)
	}
}
