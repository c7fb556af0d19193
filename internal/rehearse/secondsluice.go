package rehearse

import (
	"context"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/stage"
)

// startSecond starts a sluice on another machine that deploys the same service.
func (f *rehearsal) startSecond() { f.startSluice(mode.Options{}) }

// startTakeOver starts a sluice on another machine that takes the service over.
func (f *rehearsal) startTakeOver() {
	f.startSluice(mode.Options{TakeOver: f.id, Adopt: true})
}

func (f *rehearsal) startSluice(o mode.Options) {
	f.secondsRunning++
	f.clock.Go(func() {
		defer func() { f.secondsRunning-- }()
		end, err := f.runElsewhere(o)
		f.logLine("second: %s %s %v", end.Outcome, end.Cause, err)
	})
}

// recordClaimTaken records when a second sluice that takes over has written its claim to the
// service.
func (f *rehearsal) recordClaimTaken(o mode.Options, e sluice.Envelope) {
	w, wrote := e.Open().(sluice.Wrote)
	f.checkTakeOverWait(e)
	if wrote && o.TakeOver != "" && f.claimTakenAt.IsZero() && w.Operation == "ecs:TagResource" && w.Cause == "" {
		f.claimTakenAt = e.At
	}
}

// checkTakeOverWait checks that a sluice that takes the service over does not write while the
// former owner of the claim may still write (P2).
func (f *rehearsal) checkTakeOverWait(e sluice.Envelope) {
	switch ev := e.Open().(type) {
	case sluice.Warned:
		if strings.Contains(ev.Message, "is taken over from") {
			f.takenOverAt = e.At
		}
	case sluice.Writing:
		if since := e.At.Sub(f.takenOverAt); !f.takenOverAt.IsZero() && since < claimValidFor &&
			ev.Operation != "ecs:TagResource" && ev.Operation != "ecs:RegisterTaskDefinition" {
			f.addViolation("P2", "the deployment that took over the service wrote %s after %s: the previous owner may "+
				"write for %s", ev.Operation, since, claimValidFor)
		}
	}
}

func (f *rehearsal) runElsewhere(o mode.Options) (engine.RunResult, error) {
	ctx := context.Background()
	a, err := f.openAccount(f.clock, nil)
	if err != nil {
		return engine.RunResult{}, err
	}
	j, err := journal.Open(journal.Memory, f.clock)
	if err != nil {
		return engine.RunResult{}, err
	}
	defer j.Close()
	e := &engine.Engine{Journal: j, Account: a, Clock: f.clock, Owner: "elsewhere/1",
		NewID:   func() string { return plan.IDPrefix + "second" },
		OnEvent: func(ev sluice.Envelope) { f.recordClaimTaken(o, ev) }}
	app, err := f.loadFitted()
	if err != nil {
		return engine.RunResult{}, err
	}
	live, err := stage.Survey(ctx, a, f.clock, app)
	if err != nil {
		return engine.RunResult{}, err
	}
	p, err := mode.Make(app, live, o)
	if err != nil {
		return engine.RunResult{}, err
	}
	f.secondPlans = append(f.secondPlans, p)
	id, err := e.Start(ctx, p, engine.TriggerManual)
	if err != nil {
		return engine.RunResult{}, err
	}
	end, err := e.Run(ctx, id, engine.Options{})
	f.secondDeployedNew = f.secondDeployedNew || end.Outcome == sluice.Succeeded && !f.isJob()
	f.secondFinished = f.secondFinished || end.Outcome == sluice.Succeeded || end.Outcome == sluice.RolledBack
	return end, err
}
