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
func (f *rehearsal) onEvent(e sluice.Envelope) {
	fmt.Fprintf(&f.log, "%s [%s] %s %s\n", e.At.Sub(f.worldStart).Round(time.Millisecond), e.Stage, e.Kind, e.Data)
	f.tracer.traceEvent(e)
	f.checkDriftNoticed(e)
	f.checkRecordNoticed(e)
	f.trackShare(e)
	switch ev := e.Open().(type) {
	case sluice.StageStarted:
		if _, begun := f.stageStarts[e.Stage]; !begun {
			f.stageStarts[e.Stage] = e.At
		}
	case sluice.StageEnded:
		f.result.Stages = append(f.result.Stages, StageTime{e.Stage, e.At.Sub(f.stageStarts[e.Stage])})
		f.onStageEnded(ev.Index + 1)
	case sluice.Writing:
		f.writingScaling = ev.Operation == scalingWrite
	case sluice.Wrote:
		f.writingScaling = false
		f.onWriteAnswered()
		if ev.Operation == "ecs:UntagResource" {
			f.claimUnreleased = ev.Cause != "" && f.hasFault("5xx", "no-send")
		}
	case sluice.Warned:
		f.claimUnreleased = f.claimUnreleased ||
			strings.HasPrefix(ev.Message, "the claim on the service was not released") &&
				f.hasFault("5xx", "no-send", "throttle")
	case sluice.FailureSeen:
		f.checkReportedOnce(e, ev)
	case sluice.TrafficShifted:
		f.checkShift(e, ev)
	case sluice.DeploymentEnded:
		f.checkOutcome(ev.Outcome)
	case sluice.ApprovalAwaited:
		f.approveStage(ev)
	}
}

// approveStage approves for as many people as are missing.
func (f *rehearsal) approveStage(ev sluice.ApprovalAwaited) {
	f.personActs = true
	defer func() { f.personActs = false }()
	for n := range ev.Missing {
		by := fmt.Sprintf("person %d", n+1)
		if n < len(ev.Approvers) {
			by = ev.Approvers[n]
		}
		_, err := f.journal.AddCommand(context.Background(), journal.Command{Deployment: f.id, Kind: journal.Approve,
			Stage: fmt.Sprint(ev.Index), By: by})
		if err != nil {
			f.failRehearsal("approve: %v", err)
		}
	}
}

// scheduleInterventions schedules the interventions that start by time or by a lifecycle event.
func (f *rehearsal) scheduleInterventions() {
	if f.Files != nil && f.World.Ready > 0 {
		f.continueShifts() // people continue a user's deployment, as they approve it
	}
	for i, h := range f.Interventions {
		switch {
		case h.Write > 0: // see writeAnswered
		case h.Event != "":
			f.clock.Go(func() { f.onEventBegan(h.Event, func() { f.interveneOnce(i) }) })
		case h.Stage == 0:
			f.clock.Go(func() { f.afterDelay(h.At, func() { f.interveneOnce(i) }) })
		}
	}
}

func (f *rehearsal) interveneOnce(i int) {
	if !f.acted[i] {
		f.acted[i] = true
		f.performIntervention(f.Interventions[i])
	}
}

// interveneLater schedules an intervention some time after the end of a stage or a write.
func (f *rehearsal) interveneLater(i int) {
	if !f.scheduled[i] {
		f.scheduled[i] = true
		f.clock.Go(func() { f.afterDelay(f.Interventions[i].At, func() { f.interveneOnce(i) }) })
	}
}

// onWriteAnswered performs the interventions that wait for the result of a write.
func (f *rehearsal) onWriteAnswered() {
	f.writesAnswered++
	for i, h := range f.Interventions {
		if h.Write == f.writesAnswered {
			f.interveneLater(i)
		}
	}
}

func (f *rehearsal) onStageEnded(n int) {
	for i, h := range f.Interventions {
		switch {
		case h.Write > 0:
		case h.Stage == n && h.At > 0:
			f.interveneLater(i)
		case h.Stage == n:
			f.interveneOnce(i)
		}
	}
}

// replayStageEnds performs the interventions that wait for the end of a stage, if only a killed
// process received that event.
func (f *rehearsal) replayStageEnds() error {
	stages, err := f.journal.Stages(context.Background(), f.id)
	for _, s := range stages {
		if s.Status == journal.StageDone {
			f.onStageEnded(s.Index + 1)
		}
	}
	return err
}

func (f *rehearsal) sendCommand(kind string) {
	f.personActs = true
	defer func() { f.personActs = false }()
	if _, err := f.journal.AddCommand(context.Background(), journal.Command{Deployment: f.id, Kind: kind,
		By: "person"}); err != nil {
		f.failRehearsal("%s: %v", kind, err)
	}
}

// afterDelay calls do after d, unless the rehearsal is over.
func (f *rehearsal) afterDelay(d time.Duration, do func()) {
	f.sleep(d)
	if !f.isOver {
		do()
	}
}

func (f *rehearsal) sleep(d time.Duration) {
	if err := f.clock.Sleep(context.Background(), d); err != nil {
		f.failRehearsal("sleep: %v", err)
	}
}
