package rehearse

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/clock"
)

// SimEnv is the simulated AWS of a case with its callers. It serves a sluice that runs in its own
// process and can really be killed. Its methods may be called at any time from any goroutine.
type Ground struct {
	mu    sync.Mutex
	field *field
	clock *leaping
	began time.Time // start of the deployment; zero: not known yet
}

// NewSimEnv builds the world of a generated case, with the time of k. Its [Ground.Handler] needs
// [Case.Codec].
func NewGround(c Case, k clock.Clock) (*Ground, error) {
	g := &Ground{clock: &leaping{Clock: k}}
	g.field = newField(c, g.clock)
	if err := g.field.lay(); err != nil {
		return nil, err
	}
	g.field.began = k.Now()
	return g, nil
}

// Handler serves the AWS APIs.
func (g *Ground) Handler() http.Handler { return g.field.sim.Handler() }

// Sim returns the local AWS, for clients in this process.
func (g *Ground) Sim() *awssim.Sim { return g.field.sim }

// Inject starts a fault, given as one line of text.
func (g *Ground) Inject(line string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.field.Faults = append(g.field.Faults, line)
	return g.field.sim.Inject(line)
}

// ClearFaults ends all faults. It reports whether one of them took effect.
func (g *Ground) ClearFaults() (struck bool) {
	for _, f := range g.field.sim.Faults() {
		struck = struck || f.Struck > 0
	}
	g.field.sim.ClearFaults()
	return struck
}

// NoteCommand records a person's command to sluice that the case does not contain.
func (g *Ground) Asked(does string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.field.Hands = append(g.field.Hands, Hand{Does: does})
}

// StageEnded performs the interventions that wait for the end of the n-th stage, counted from 1. It
// returns the commands of people to sluice: rollback, abort, pause. A repeated call has no further
// effect.
func (g *Ground) StageEnded(n int) (commands []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, h := range g.field.Hands {
		if h.Stage == n {
			commands = append(commands, g.acts(i)...)
		}
	}
	return commands
}

// RunDue performs the interventions that are due, and returns the commands of people to sluice.
// Call it repeatedly, first when the deployment exists.
func (g *Ground) Due() (commands []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.began.IsZero() {
		g.began = g.clock.Now()
	}
	for i, h := range g.field.Hands {
		if h.Event != "" && g.field.eventBegan(h.Event) || h.Event == "" && h.Stage == 0 && g.clock.Now().Sub(g.began) >= h.At {
			commands = append(commands, g.acts(i)...)
		}
	}
	return commands
}

// actOnce performs an intervention once; one that continues CodeDeploy is repeated at each call.
func (g *Ground) acts(i int) (commands []string) {
	given, does := g.field.given[i], g.field.Hands[i].Does
	g.field.given[i] = true
	switch {
	case does == Continue:
		g.field.letGoOn()
	case given:
	case does == Rollback, does == Abort, does == Pause:
		return []string{does}
	default:
		g.field.do(g.field.Hands[i])
	}
	return nil
}

// Judge returns the result of a deployment that ended: what its callers got, the steady state of
// the service, and the violated promises.
func (g *Ground) Judge(o sluice.Outcome, cause string) Result {
	g.mu.Lock()
	defer g.mu.Unlock()
	f := g.field
	f.result.Outcome, f.result.Cause, f.over = o, cause, true
	f.inWorld(func(*world.Tx) {}) // up to now
	f.tell()
	f.lossless()
	g.clock.ahead.Add(int64(restFor))
	f.ended(o)
	f.result.Log = f.log.String()
	return f.result
}

// forwardClock is a clock that can be set forward. It is used after the deployment has ended.
type leaping struct {
	clock.Clock
	ahead atomic.Int64
}

func (l *leaping) Now() time.Time { return l.Clock.Now().Add(time.Duration(l.ahead.Load())) }
