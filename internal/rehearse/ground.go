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

// Ground is the world of a case by itself, with its callers, for a sluice that
// runs in a process of its own and can really be killed. Its methods may be called
// at any time from anywhere.
type Ground struct {
	mu    sync.Mutex
	field *field
	clock *leaping
	began time.Time // the deployment; zero: not known yet
}

// NewGround lays the world of a drawn case, in the time of k. Its [Ground.Handler] needs
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

// Handler answers the AWS APIs.
func (g *Ground) Handler() http.Handler { return g.field.sim.Handler() }

// Sim is the local AWS, for clients in this process.
func (g *Ground) Sim() *awssim.Sim { return g.field.sim }

// Inject begins a fault, as one line of text.
func (g *Ground) Inject(line string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.field.Faults = append(g.field.Faults, line)
	return g.field.sim.Inject(line)
}

// ClearFaults ends all faults. It reports whether one of them has struck.
func (g *Ground) ClearFaults() (struck bool) {
	for _, f := range g.field.sim.Faults() {
		struck = struck || f.Struck > 0
	}
	g.field.sim.ClearFaults()
	return struck
}

// Asked notes what a person asked of sluice itself, beside what the case says.
func (g *Ground) Asked(does string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.field.Hands = append(g.field.Hands, Hand{Does: does})
}

// StageEnded lets those act who waited for the end of the n-th stage, counted
// from 1. It returns what people ask of sluice itself: rollback, abort, pause. Told
// again, nothing more happens.
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

// Due lets those act whose time has come, and returns what people ask of sluice
// itself. It is asked again and again, first as soon as there is a deployment.
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

// acts lets a hand act once, one that continues as often as it is asked.
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

// Judge tells what came of a deployment that ended: what its callers got, how the
// service stands once the world has come to rest, and which promises were broken.
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

// leaping is a clock that can be put forward, for a world that nobody works on any
// more.
type leaping struct {
	clock.Clock
	ahead atomic.Int64
}

func (l *leaping) Now() time.Time { return l.Clock.Now().Add(time.Duration(l.ahead.Load())) }
