package rehearse

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage"
)

// startDeployment plans the application and records its deployment.
func (f *field) start() (err error) {
	if err := f.born(); err != nil {
		return err
	}
	if f.task, err = f.load(); err != nil {
		return err
	}
	ctx := context.Background()
	live, err := stage.Survey(ctx, f.account, f.clock, f.task)
	if err != nil {
		return err
	}
	if f.plan, err = plan.Make(f.task, live, plan.Options{QuickSync: f.QuickSync}); err != nil {
		return err
	}
	f.began = f.clock.Now()
	f.person = true
	f.id, err = f.engine.Start(ctx, f.plan, engine.ByHand)
	f.person = false
	if err != nil {
		return err
	}
	for _, line := range f.Faults {
		if err := f.sim.Inject(line); err != nil {
			return err
		}
	}
	return nil
}

// recordRefusal records the result of a case whose application cannot be deployed.
func (f *field) refused(err error) {
	if f.Files == nil {
		f.broken("the case cannot be deployed: %v", err)
	}
	f.result.Cause, f.result.Next = err.Error(), sluice.NextStep(err)
}

// startProcess starts a process of sluice with the next kill of the case.
func (f *field) born() (err error) {
	l := &life{real: f.clock, writing: f.tracer.write, wrote: f.wrote}
	if f.lives < len(f.Kills) {
		l.kill = f.Kills[f.lives]
	}
	if f.lives == 0 {
		l.full = f.Full
	}
	f.lives++
	f.life = l
	if f.account, err = f.open(l, l); err != nil {
		return err
	}
	owner := fmt.Sprintf("rehearsal/%d", f.lives)
	f.engine = &engine.Engine{Journal: f.journal, Account: f.account, Clock: l, Owner: owner,
		Alive: func(o string) bool { return o == owner },
		NewID: func() string { return plan.IDPrefix + "rehearsed" },
		Watch: f.watch}
	if f.id == "" {
		return nil
	}
	if _, err := f.engine.Supply(context.Background(), f.id, f.task); err != nil {
		return err
	}
	return f.catchUp()
}

// Delays before a person runs sluice again.
const (
	restart  = 5 * time.Second // at least, after a kill
	patience = time.Minute     // after a pause: credentials, a full disk
	tries    = 20              // number of runs before the faults end
)

// runUntilEnded runs the deployment, and runs it again after each kill and pause.
func (f *field) untilEnded() {
	for n := 1; ; n++ {
		end, err, died := f.runOnce()
		if f.lives == 1 {
			f.first = *f.life
		}
		if !died && err == nil && end.State == journal.Ended {
			f.result.Outcome, f.result.Cause, f.result.Next = end.Outcome, end.Cause, end.Next
			return
		}
		if n == 2*tries {
			f.violate("P2", "it does not end: %s %v", end.State, err)
			return
		}
		wait := patience
		if died {
			wait = max(restart, f.Away)
			f.say("killed %s", f.life.at)
		} else {
			f.paused, f.result.Paused = true, true
			f.say("left: %s %v", end.State, err)
		}
		if n == tries {
			f.sim.ClearFaults()
		}
		f.sleep(wait)
		if err := f.born(); err != nil {
			f.broken("sluice cannot be started again: %v", err)
			return
		}
	}
}

func (f *field) runOnce() (end engine.Ended, err error, died bool) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	f.life.end = cancel
	defer func() {
		if r := recover(); r != nil {
			rest(r)
			died = true
		}
	}()
	end, err = f.engine.Run(ctx, f.id, engine.Options{})
	return end, err, f.life.dead
}
