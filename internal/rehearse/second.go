package rehearse

import (
	"context"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage"
)

// startSecond starts a sluice on another machine that deploys the same service.
func (f *field) second() { f.anotherSluice(plan.Options{}) }

// startTakeOver starts a sluice on another machine that takes the service over.
func (f *field) takeOver() {
	f.anotherSluice(plan.Options{TakeOver: f.id, Adopt: true})
}

func (f *field) anotherSluice(o plan.Options) {
	f.beside++
	f.clock.Go(func() {
		defer func() { f.beside-- }()
		end, err := f.elsewhere(o)
		f.say("second: %s %s %v", end.Outcome, end.Cause, err)
	})
}

// recordClaimTaken records when a second sluice that takes over has written its claim to the
// service.
func (f *field) takes(o plan.Options, e sluice.Envelope) {
	w, wrote := e.Open().(sluice.Wrote)
	f.waitsOut(e)
	if wrote && o.TakeOver != "" && f.taken.IsZero() && w.Operation == "ecs:TagResource" && w.Cause == "" {
		f.taken = e.At
	}
}

// checkTakeOverWait checks that a sluice that takes the service over does not write while the
// former owner of the claim may still write (P2).
func (f *field) waitsOut(e sluice.Envelope) {
	switch ev := e.Open().(type) {
	case sluice.Warned:
		if strings.Contains(ev.Message, "is taken over from") {
			f.seized = e.At
		}
	case sluice.Writing:
		if since := e.At.Sub(f.seized); !f.seized.IsZero() && since < claimHolds && ev.Operation != "ecs:TagResource" && ev.Operation != "ecs:RegisterTaskDefinition" {
			f.violate("P2", "who took the service over wrote %s after %s: the former holder may write until %s have passed", ev.Operation, since, claimHolds)
		}
	}
}

func (f *field) elsewhere(o plan.Options) (engine.Ended, error) {
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
	e := &engine.Engine{Journal: j, Account: a, Clock: f.clock, Owner: "elsewhere/1", NewID: func() string { return plan.IDPrefix + "second" },
		Watch: func(ev sluice.Envelope) { f.takes(o, ev) }}
	app, err := f.load()
	if err != nil {
		return engine.Ended{}, err
	}
	live, err := stage.Survey(ctx, a, f.clock, app)
	if err != nil {
		return engine.Ended{}, err
	}
	p, err := plan.Make(app, live, o)
	if err != nil {
		return engine.Ended{}, err
	}
	f.seconds = append(f.seconds, p)
	id, err := e.Start(ctx, p, engine.ByHand)
	if err != nil {
		return engine.Ended{}, err
	}
	end, err := e.Run(ctx, id, engine.Options{})
	f.secondNew = f.secondNew || end.Outcome == sluice.Succeeded && !f.byItself()
	f.secondRan = f.secondRan || end.Outcome == sluice.Succeeded || end.Outcome == sluice.RolledBack
	return end, err
}
