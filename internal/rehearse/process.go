package rehearse

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/survey"
)

// startDeployment plans the application and records its deployment.
func (f *Rehearsal) startDeployment() (err error) {
	if err := f.startProcess(); err != nil {
		return err
	}
	if f.application, err = f.LoadApplication(); err != nil {
		return err
	}
	ctx := context.Background()
	live, err := survey.ReadInputs(ctx, f.account, f.Clock, f.application)
	if err != nil {
		return err
	}
	if f.Plan, err = mode.Make(f.application, live, mode.Options{QuickSync: f.QuickSync}); err != nil {
		return err
	}
	f.startedAt = f.Clock.Now()
	f.personActs = true
	f.id, err = f.engine.Start(ctx, f.Plan, engine.TriggerManual)
	f.personActs = false
	if err != nil {
		return err
	}
	for _, line := range f.Faults {
		if err := f.Sim.Inject(line); err != nil {
			return err
		}
	}
	return nil
}

// recordRefusal records the result of a case whose application cannot be deployed.
func (f *Rehearsal) recordRefusal(err error) {
	if f.Generated {
		f.Fail("the case cannot be deployed: %v", err)
	}
	f.Result.Cause, f.Result.Next = err.Error(), sluice.NextStep(err)
}

// startProcess starts a process of sluice with the next kill of the case.
func (f *Rehearsal) startProcess() (err error) {
	l := &process{worldClock: f.Clock, onWriting: f.extension.OnWriting, onWrote: f.checkWrite}
	if f.processCount < len(f.Kills) {
		l.kill = f.Kills[f.processCount]
	}
	if f.processCount == 0 {
		l.fullDisk = f.FullDisk
	}
	f.processCount++
	f.process = l
	if f.account, err = f.openAccount(l, l); err != nil {
		return err
	}
	owner := fmt.Sprintf("rehearsal/%d", f.processCount)
	f.engine = &engine.Engine{Journal: f.journal, Account: f.account, Clock: l, Owner: owner,
		IsAlive: func(o string) bool { return o == owner },
		NewID:   func() string { return plan.IDPrefix + "rehearsed" },
		OnEvent: f.onEvent}
	if f.id == "" {
		return nil
	}
	if _, err := f.engine.RestoreSecrets(context.Background(), f.id, f.application); err != nil {
		return err
	}
	return f.replayStageEnds()
}

// Delays before a person runs sluice again.
const (
	minRestartDelay = 5 * time.Second // at least, after a kill
	pauseRetryDelay = time.Minute     // after a pause: credentials, a full disk
	maxTries        = 20              // number of runs before the faults end
)

// runUntilEnded runs the deployment, and runs it again after each kill and pause.
func (f *Rehearsal) runUntilEnded() {
	for n := 1; ; n++ {
		end, err, died := f.runOnce()
		if f.processCount == 1 {
			f.firstProcess = *f.process
		}
		if !died && err == nil && end.State == journal.Ended {
			f.Result.Outcome, f.Result.Cause, f.Result.Next = end.Outcome, end.Cause, end.Next
			return
		}
		if n == 2*maxTries {
			f.AddViolation("P2", "the deployment does not end: %s %v", end.State, err)
			return
		}
		wait := pauseRetryDelay
		if died {
			wait = max(minRestartDelay, f.RestartDelay)
			f.LogLine("killed %s", f.process.endCause)
			if f.extension.OnKilled != nil {
				f.extension.OnKilled(f.process.endCause)
			}
		} else {
			f.WasPaused, f.Result.Paused = true, true
			f.LogLine("left: %s %v", end.State, err)
		}
		if n == maxTries {
			f.Sim.ClearFaults()
		}
		f.Sleep(wait)
		if err := f.startProcess(); err != nil {
			f.Fail("sluice cannot be started again: %v", err)
			return
		}
	}
}

func (f *Rehearsal) runOnce() (end engine.RunResult, err error, died bool) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	f.process.cancel = cancel
	defer func() {
		if r := recover(); r != nil {
			repanicUnlessKilled(r)
			died = true
		}
	}()
	end, err = f.engine.Run(ctx, f.id, engine.Options{})
	return end, err, f.process.ended
}
