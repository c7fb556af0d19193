package rehearse

import (
	"context"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/survey"
)

// StartSluice starts a sluice on another machine that deploys the same service. onEvent receives its
// events; nil: they are ignored.
func (f *Rehearsal) StartSluice(o mode.Options, onEvent func(sluice.Envelope)) {
	f.secondsRunning++
	f.Clock.Go(func() {
		defer func() { f.secondsRunning-- }()
		end, err := f.runElsewhere(o, onEvent)
		f.LogLine("second: %s %s %v", end.Outcome, end.Cause, err)
	})
}

func (f *Rehearsal) runElsewhere(o mode.Options, onEvent func(sluice.Envelope)) (engine.RunResult, error) {
	ctx := context.Background()
	a, err := f.openAccount(f.Clock, nil)
	if err != nil {
		return engine.RunResult{}, err
	}
	j, err := journal.Open(journal.Memory, f.Clock)
	if err != nil {
		return engine.RunResult{}, err
	}
	defer j.Close()
	e := &engine.Engine{Journal: j, Account: a, Clock: f.Clock, Owner: "elsewhere/1",
		NewID:   func() string { return plan.IDPrefix + "second" },
		OnEvent: onEvent}
	app, err := f.LoadApplication()
	if err != nil {
		return engine.RunResult{}, err
	}
	live, err := survey.ReadInputs(ctx, a, f.Clock, app)
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
	f.secondDeployedNew = f.secondDeployedNew || end.Outcome == sluice.Succeeded && !f.IsJob()
	f.secondFinished = f.secondFinished || end.Outcome == sluice.Succeeded || end.Outcome == sluice.RolledBack
	return end, err
}
