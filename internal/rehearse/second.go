package rehearse

import (
	"context"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage"
)

// second is another machine's sluice that deploys the same service.
func (f *field) second() {
	f.beside++
	f.clock.Go(func() {
		defer func() { f.beside-- }()
		end, err := f.elsewhere()
		f.say("second: %s %s %v", end.Outcome, end.Cause, err)
	})
}

func (f *field) elsewhere() (engine.Ended, error) {
	ctx := context.Background()
	a, err := f.open(f.clock, nil)
	if err != nil {
		return engine.Ended{}, err
	}
	j, err := journal.Open(journal.Memory, f.clock)
	if err != nil {
		return engine.Ended{}, err
	}
	defer j.Close()
	e := &engine.Engine{Journal: j, Account: a, Clock: f.clock, Owner: "elsewhere/1", NewID: func() string { return plan.IDPrefix + "second" }}
	app, err := f.load()
	if err != nil {
		return engine.Ended{}, err
	}
	live, err := stage.Survey(ctx, a, f.clock, app)
	if err != nil {
		return engine.Ended{}, err
	}
	p, err := plan.Make(app, live, plan.Options{})
	if err != nil {
		return engine.Ended{}, err
	}
	f.seconds = append(f.seconds, p)
	id, err := e.Start(ctx, p, engine.ByHand)
	if err != nil {
		return engine.Ended{}, err
	}
	end, err := e.Run(ctx, id, engine.Options{})
	f.secondRan = f.secondRan || end.Outcome == sluice.Succeeded || end.Outcome == sluice.RolledBack
	return end, err
}
