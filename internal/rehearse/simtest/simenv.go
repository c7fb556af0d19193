package simtest

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/rehearse"
)

// SimEnv is the simulated AWS of a case with its callers. It serves a sluice that runs in its own
// process and can really be killed. Its methods may be called at any time from any goroutine.
type SimEnv struct {
	mu        sync.Mutex
	rehearsal *rehearse.Rehearsal
	clock     *forwardClock
	acted     map[int]bool // interventions that were performed
	began     time.Time    // start of the deployment; zero: not known yet
}

// NewSimEnv builds the world of a generated case, with the time of k. Its [SimEnv.Handler] needs
// [Case.Codec].
func NewSimEnv(c rehearse.Case, k clock.Clock) (*SimEnv, error) {
	g := &SimEnv{acted: map[int]bool{}, clock: &forwardClock{Clock: k}}
	var err error
	g.rehearsal, err = prepare(c, g.clock)
	return g, err
}

// Handler serves the AWS APIs.
func (g *SimEnv) Handler() http.Handler { return g.rehearsal.Env.Sim.Handler() }

// Sim returns the local AWS, for clients in this process.
func (g *SimEnv) Sim() *awssim.Sim { return g.rehearsal.Env.Sim }

// Inject starts a fault, given as one line of text.
func (g *SimEnv) Inject(line string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.rehearsal.Case.Faults = append(g.rehearsal.Case.Faults, line)
	return g.rehearsal.Env.Sim.Inject(line)
}

// ClearFaults ends all faults. It reports whether one of them took effect.
func (g *SimEnv) ClearFaults() (struck bool) {
	for _, f := range g.rehearsal.Env.Sim.Faults() {
		struck = struck || f.Struck > 0
	}
	g.rehearsal.Env.Sim.ClearFaults()
	return struck
}

// NoteCommand records a person's command to sluice that the case does not contain.
func (g *SimEnv) NoteCommand(does string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.rehearsal.Case.Interventions = append(g.rehearsal.Case.Interventions, rehearse.Intervention{Does: does})
}

// StageEnded performs the interventions that wait for the end of the n-th stage, counted from 1. It
// returns the commands of people to sluice: rollback, abort, pause. A repeated call has no further
// effect.
func (g *SimEnv) StageEnded(n int) (commands []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, h := range g.rehearsal.Case.Interventions {
		if h.Stage == n {
			commands = append(commands, g.actOnce(i)...)
		}
	}
	return commands
}

// RunDue performs the interventions that are due, and returns the commands of people to sluice.
// Call it repeatedly, first when the deployment exists.
func (g *SimEnv) RunDue() (commands []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.began.IsZero() {
		g.began = g.clock.Now()
	}
	for i, h := range g.rehearsal.Case.Interventions {
		if h.Event != "" && g.rehearsal.Env.HasEventBegun(h.Event) || h.Event == "" && h.Stage == 0 &&
			g.clock.Now().Sub(g.began) >= h.At {
			commands = append(commands, g.actOnce(i)...)
		}
	}
	return commands
}

// actOnce performs an intervention once; one that continues CodeDeploy is repeated at each call.
func (g *SimEnv) actOnce(i int) (commands []string) {
	given, does := g.acted[i], g.rehearsal.Case.Interventions[i].Does
	g.acted[i] = true
	switch {
	case does == rehearse.ContinueCodeDeploy:
		g.rehearsal.Acts.ContinueReady()
	case given:
	case does == rehearse.Rollback, does == rehearse.Abort, does == rehearse.Pause:
		return []string{does}
	default:
		g.rehearsal.Acts.Perform(g.rehearsal.Case.Interventions[i])
	}
	return nil
}

// Judge returns the result of a deployment that ended: what its callers got, the steady state of
// the service, and the violated promises.
func (g *SimEnv) Judge(o sluice.Outcome, cause string) rehearse.Result {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.rehearsal.Judge(o, cause, func(d time.Duration) { g.clock.ahead.Add(int64(d)) })
}

// forwardClock is a clock that can be set forward. It is used after the deployment has ended.
type forwardClock struct {
	clock.Clock
	ahead atomic.Int64
}

func (l *forwardClock) Now() time.Time { return l.Clock.Now().Add(time.Duration(l.ahead.Load())) }
