package piped

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/survey"
	"github.com/sluice-ecs/sluice/internal/watch"
)

// cacheLifetime is how long a response about a service may be shared: once a minute, piped requests
// the live state of all applications within seconds.
const cacheLifetime = 20 * time.Second

// activeTarget is a deploy target in use.
type activeTarget struct {
	name        string
	account     *account.Account
	services    *watch.ServiceCache
	definitions *ecs.DefinitionCache

	mu        sync.Mutex
	unmanaged map[string][]plan.ExternalTarget // by service, as of its last live state
	traffic   map[string]trafficRead           // by the target groups and rules of an application
}

// trafficRead is a read of target groups and rules.
type trafficRead struct {
	at, found time.Time // of the read, and of the last look-up of the groups
	*survey.TrafficState
}

// groupsLifetime is how long target groups and listeners are used without a new look-up.
const groupsLifetime = 10 * time.Minute

// trafficOf reads the targets and rules of an application. Applications with the same
// target groups share a read, as they share the reads of services.
func (p *activeTarget) trafficOf(ctx context.Context, c clock.Clock, app *appfile.Application) (*survey.TrafficState,
	error) {
	key := strings.Join(append([]string{app.Primary.OptionalARN(), app.Canary.OptionalARN()}, app.ListenerRules...), " ")
	p.mu.Lock()
	have := p.traffic[key]
	p.mu.Unlock()
	now := c.Now()
	if have.TrafficState != nil && now.Sub(have.at) < cacheLifetime {
		return have.TrafficState, nil
	}
	if have.TrafficState == nil || now.Sub(have.found) > groupsLifetime {
		have = trafficRead{found: now}
	}
	t, err := survey.ReadTraffic(ctx, p.account, app, have.TrafficState)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.traffic[key] = trafficRead{at: now, found: have.found, TrafficState: t}
	return t, nil
}

// seenTwice returns the unmanaged targets that the previous live state of the service contained
// too: one read may be older than the tasks that it is compared with.
func (p *activeTarget) seenTwice(service string, now []plan.ExternalTarget) []plan.ExternalTarget {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.unmanaged[service]
	p.unmanaged[service] = now
	return plan.ExternalInBoth(before, now)
}

// targetPool opens deploy targets when they are first needed: the plugin starts without a call to
// AWS.
type targetPool struct {
	entry   *pluginEntry
	clock   clock.Clock
	connect connectFunc

	mu     sync.Mutex
	opened map[string]*activeTarget
}

// connectFunc opens the account and Region of a deploy target.
type connectFunc func(context.Context, targetAccess) (*account.Account, error)

func newTargetPool(e *pluginEntry, c clock.Clock, to connectFunc) *targetPool {
	return &targetPool{entry: e, clock: c, connect: to, opened: map[string]*activeTarget{}}
}

// connectToAWS connects as the deploy targets configure, all with the same limits. A scaled clock
// is allowed only with the local AWS.
func connectToAWS(c clock.Clock, scaled bool) connectFunc {
	limits := account.NewLimits()
	return func(ctx context.Context, to targetAccess) (*account.Account, error) {
		a, err := account.Open(ctx, account.Config{
			Region: to.Region, Profile: to.Profile, CredentialsFile: to.CredentialsFile,
			AssumeRole: to.RoleARN, TokenFile: to.TokenFile, Clock: c, Jitter: rand.Float64, Limits: limits,
		})
		if err == nil && scaled {
			err = a.SpeedAllowed()
		}
		return a, err
	}
}

func (p *targetPool) openTarget(ctx context.Context, name string) (*activeTarget, error) {
	t, err := p.entry.findTarget(name)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if have, ok := p.opened[name]; ok {
		return have, nil
	}
	a, err := p.connect(ctx, t.access)
	if err != nil {
		return nil, err
	}
	opened := &activeTarget{name: name, account: a, services: watch.NewServiceCache(a, p.clock, cacheLifetime),
		definitions: ecs.NewDefinitionCache(a.ECS()), unmanaged: map[string][]plan.ExternalTarget{},
		traffic: map[string]trafficRead{}}
	p.opened[name] = opened
	return opened, nil
}
