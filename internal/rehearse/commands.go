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
func (f *Rehearsal) onEvent(e sluice.Envelope) {
	fmt.Fprintf(&f.log, "%s [%s] %s %s\n", e.At.Sub(f.worldStart).Round(time.Millisecond), e.Stage, e.Kind, e.Data)
	f.checkDriftNoticed(e)
	if f.extension.OnEvent != nil {
		f.extension.OnEvent(e)
	}
	f.trackShare(e)
	switch ev := e.Open().(type) {
	case sluice.StageStarted:
		if _, begun := f.stageStarts[e.Stage]; !begun {
			f.stageStarts[e.Stage] = e.At
		}
	case sluice.StageEnded:
		f.Result.Stages = append(f.Result.Stages, StageTime{e.Stage, e.At.Sub(f.stageStarts[e.Stage])})
		f.onStageEnded(ev.Index + 1)
	case sluice.Writing:
		f.writingScaling = ev.Operation == scalingWrite
	case sluice.Wrote:
		f.writingScaling = false
		f.onWriteAnswered()
		if ev.Operation == "ecs:UntagResource" {
			f.claimUnreleased = ev.Cause != "" && f.HasFault("5xx", "no-send")
		}
	case sluice.Warned:
		f.claimUnreleased = f.claimUnreleased ||
			strings.HasPrefix(ev.Message, "the claim on the service was not released") &&
				f.HasFault("5xx", "no-send", "throttle")
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
func (f *Rehearsal) approveStage(ev sluice.ApprovalAwaited) {
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
			f.Fail("approve: %v", err)
		}
	}
}

// scheduleInterventions schedules the interventions that start by time or by a lifecycle event.
func (f *Rehearsal) scheduleInterventions() {
	if !f.Generated && f.World.Ready > 0 {
		f.ContinueShifts() // people continue a user's deployment, as they approve it
	}
	for i, h := range f.Interventions {
		switch {
		case h.Write > 0: // see writeAnswered
		case h.Event != "":
			f.Clock.Go(func() { f.onEventBegan(h.Event, func() { f.interveneOnce(i) }) })
		case h.Stage == 0:
			f.Clock.Go(func() { f.AfterDelay(h.At, func() { f.interveneOnce(i) }) })
		}
	}
}

func (f *Rehearsal) interveneOnce(i int) {
	if !f.acted[i] {
		f.acted[i] = true
		f.PerformIntervention(f.Interventions[i])
	}
}

// interveneLater schedules an intervention some time after the end of a stage or a write.
func (f *Rehearsal) interveneLater(i int) {
	if !f.scheduled[i] {
		f.scheduled[i] = true
		f.Clock.Go(func() { f.AfterDelay(f.Interventions[i].At, func() { f.interveneOnce(i) }) })
	}
}

// onWriteAnswered performs the interventions that wait for the result of a write.
func (f *Rehearsal) onWriteAnswered() {
	f.writesAnswered++
	for i, h := range f.Interventions {
		if h.Write == f.writesAnswered {
			f.interveneLater(i)
		}
	}
}

func (f *Rehearsal) onStageEnded(n int) {
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
func (f *Rehearsal) replayStageEnds() error {
	stages, err := f.journal.Stages(context.Background(), f.id)
	for _, s := range stages {
		if s.Status == journal.StageDone {
			f.onStageEnded(s.Index + 1)
		}
	}
	return err
}

// SendCommand writes a person's command to the journal.
func (f *Rehearsal) SendCommand(kind string) {
	f.personActs = true
	defer func() { f.personActs = false }()
	if _, err := f.journal.AddCommand(context.Background(), journal.Command{Deployment: f.id, Kind: kind,
		By: "person"}); err != nil {
		f.Fail("%s: %v", kind, err)
	}
}

// AfterDelay calls do after d, unless the rehearsal is over.
func (f *Rehearsal) AfterDelay(d time.Duration, do func()) {
	f.Sleep(d)
	if !f.isOver {
		do()
	}
}

// Sleep waits in the time of the world.
func (f *Rehearsal) Sleep(d time.Duration) {
	if err := f.Clock.Sleep(context.Background(), d); err != nil {
		f.Fail("sleep: %v", err)
	}
}
