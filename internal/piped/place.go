package piped

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage"
	"github.com/sluice-ecs/sluice/internal/watch"
)

// cacheLifetime is how long a response about a service may be shared: once a minute, piped requests
// the live state of all applications within seconds.
const shelfLife = 20 * time.Second

// activeTarget is a deploy target in use.
type place struct {
	name    string
	account *account.Account
	shelf   *watch.Shelf

	mu          sync.Mutex
	definitions map[string]*ecstypes.TaskDefinition // by revision; they never change
	foreign     map[string][]plan.ForeignTarget     // by service, as of its last live state
	traffic     map[string]readTraffic              // by the target groups and rules of an application
}

// readTraffic is a read of target groups and rules.
type readTraffic struct {
	at, found time.Time // of the read, and of the last look-up of the groups
	*stage.Traffic
}

// groupsLifetime is how long target groups and listeners are used without a new look-up.
const placesLife = 10 * time.Minute

// trafficOf reads the targets and rules of an application. Applications with the same
// target groups share a read, as they share the reads of services.
func (p *place) trafficOf(ctx context.Context, c clock.Clock, app *appfile.Application) (*stage.Traffic, error) {
	key := strings.Join(app.ListenerRules, " ")
	for _, g := range []*appfile.TargetGroup{app.Primary, app.Canary} {
		if g != nil {
			key += " " + g.ARN
		}
	}
	p.mu.Lock()
	have := p.traffic[key]
	p.mu.Unlock()
	now := c.Now()
	if have.Traffic != nil && now.Sub(have.at) < shelfLife {
		return have.Traffic, nil
	}
	if have.Traffic == nil || now.Sub(have.found) > placesLife {
		have = readTraffic{found: now}
	}
	t, err := stage.ReadTraffic(ctx, p.account, app, have.Traffic)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.traffic[key] = readTraffic{at: now, found: have.found, Traffic: t}
	return t, nil
}

// seenTwice returns the unmanaged targets that the previous live state of the service contained
// too: one read may be older than the tasks that it is compared with.
func (p *place) twice(service string, now []plan.ForeignTarget) []plan.ForeignTarget {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.foreign[service]
	p.foreign[service] = now
	return plan.BothForeign(before, now)
}

// definition reads a registered task definition, once.
func (p *place) definition(ctx context.Context, revision string) (*ecstypes.TaskDefinition, error) {
	p.mu.Lock()
	td, ok := p.definitions[revision]
	p.mu.Unlock()
	if ok {
		return td, nil
	}
	td, err := ecs.Definition(ctx, p.account.ECS(), revision)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.definitions[revision] = td
	return td, nil
}

// targetPool opens deploy targets when they are first needed: the plugin starts without a call to
// AWS.
type places struct {
	entry   *entry
	clock   clock.Clock
	connect connect

	mu   sync.Mutex
	open map[string]*place
}

// connectFunc opens the account and Region of a deploy target.
type connect func(context.Context, access) (*account.Account, error)

func newPlaces(e *entry, c clock.Clock, to connect) *places {
	return &places{entry: e, clock: c, connect: to, open: map[string]*place{}}
}

// connectToAWS connects as the deploy targets configure, all with the same limits. A scaled clock
// is allowed only with the local AWS.
func toAWS(c clock.Clock, scaled bool) connect {
	limits := account.NewLimits()
	return func(ctx context.Context, to access) (*account.Account, error) {
		a, err := account.Open(ctx, account.Config{
			Region: to.Region, Profile: to.Profile, CredentialsFile: to.CredentialsFile,
			AssumeRole: to.RoleARN, TokenFile: to.TokenFile, Clock: c, Draw: rand.Float64, Limits: limits,
		})
		if err == nil && scaled {
			err = a.SpeedAllowed()
		}
		return a, err
	}
}

func (p *places) get(ctx context.Context, name string) (*place, error) {
	t, err := p.entry.target(name)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if have, ok := p.open[name]; ok {
		return have, nil
	}
	a, err := p.connect(ctx, t.access)
	if err != nil {
		return nil, err
	}
	opened := &place{name: name, account: a, shelf: watch.NewShelf(a, p.clock, shelfLife), definitions: map[string]*ecstypes.TaskDefinition{}, foreign: map[string][]plan.ForeignTarget{}, traffic: map[string]readTraffic{}}
	p.open[name] = opened
	return opened, nil
}
