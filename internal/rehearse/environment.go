package rehearse

import (
	"context"
	"time"

	"github.com/aws/smithy-go/middleware"

	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/clock"
)

// Environment is the simulated AWS of a case, with the rehearsed service in it. The checks read it, and
// the acts of people and other tools change it.
type Environment struct {
	Case   *Case
	Clock  clock.Clock
	Sim    *awssim.Sim // nil before it is built
	IsOver bool        // the deployment has ended: no further act begins
	// Routes are the rules of the world's listeners, in the order of [shape.World.EachRule], also after they
	// were edited or deleted.
	Routes []*world.Rule
	// requests are which requests each of them gets, by ARN, before anybody changes that.
	requests map[string]requests

	deletedGroups []*world.TargetGroup // by another actor

	report       *Report
	externalActs bool // another actor is changing the world
}

// InWorld calls do in one transaction of the world.
func (e *Environment) InWorld(do func(*world.Tx)) {
	_ = e.Sim.World().Do(e.worldKey(), func(tx *world.Tx) error {
		do(tx)
		return nil
	})
}

func (e *Environment) worldKey() world.Key {
	return world.Key{Account: e.Case.World.Account, Region: e.Case.World.Region}
}

// Sleep waits in the time of the world.
func (e *Environment) Sleep(d time.Duration) {
	if err := e.Clock.Sleep(context.Background(), d); err != nil {
		e.report.Fail("sleep: %v", err)
	}
}

// AfterDelay calls do after d, unless the rehearsal is over.
func (e *Environment) AfterDelay(d time.Duration, do func()) {
	e.Sleep(d)
	if !e.IsOver {
		do()
	}
}

// ActOutside runs act as a change of the world by another actor than sluice.
func (e *Environment) ActOutside(act func(*world.Tx)) {
	e.externalActs = true
	defer func() { e.externalActs = false }()
	e.InWorld(act)
}

// openAccount opens an account on the simulated AWS. If there is a process, the account has its hooks,
// and onCall receives each attempt of a call.
func (e *Environment) openAccount(c clock.Clock, l *process, onCall func(account.Call)) (*account.Account, error) {
	cfg := e.Sim.Config()
	a := account.Config{Region: cfg.Region, Credentials: cfg.Credentials, EndpointURL: awssim.Endpoint,
		HTTPClient: e.Sim.HTTPClient(), Clock: c,
		APIOptions: e.Sim.APIOptions()}
	if l != nil {
		a.APIOptions = append(append([]func(*middleware.Stack) error{}, a.APIOptions...), l.addMiddleware)
		a.OnCall = onCall
	}
	return account.Open(context.Background(), a)
}
