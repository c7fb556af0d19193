package awssim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// lead is how long before now a world file is laid out, so that what it describes
// has come to rest: load balancers are provisioned, tasks run, targets are healthy.
const lead = 10 * time.Minute

// Load replaces the world by the one that a file describes, in YAML:
//
//	account: "123456789012"    # and region; those of Options if left out
//	region: us-east-1
//	subnets: [subnet-…]        # ids for the default network's, in zones a, b, c; services stand in these
//	clusters: [prod]
//	targetGroups:
//	  - {name: web-primary, arn: …, port: 80, deregistrationDelay: 10s, healthCheck: {interval: 5s}}
//	  - {name: web-canary}
//	loadBalancers:
//	  - name: web              # arn: may pin; so for listeners, rules, groups
//	    listeners:
//	      - port: 80
//	        forward: {web-primary: 100, web-canary: 0}   # stickiness: 1h; or fixed: {status: 404, body: …}
//	        rules: [{priority: 1, header: {X-Canary: always}, forward: {web-canary: 1}}]
//	namespaces:
//	  - name: shop.local       # kind: private (the default), public or http; id: may pin; so for services
//	    services: [{name: api, records: {A: 10s}}]   # routing: weighted; health: none
//	services:
//	  - {name: api, count: 4, image: "sim/web:v1", port: 80, registry: api.shop.local}
//	  - {name: web, count: 4, image: "sim/web:v1", port: 80, targetGroup: web-primary}  # controller: EXTERNAL or ECS
//	  - {name: pay, count: 2, image: "sim/pay:v1", targetGroup: pay-a, controller: CODE_DEPLOY, demand: 120}  # CPU asked for, in percent of a task
//	functions: [{name: validate, result: succeed, after: 5s}]  # or fail, hang: what hooks of deployments call
//	deploymentConfigs: [{name: Half, canary: 50, every: 1m}]   # or linear
//	applications:
//	  - name: pay              # config:, ready: 10m (wait for ContinueDeployment), terminate: 5m or keepAlive, rollback: [DEPLOYMENT_FAILURE], alarms:
//	    groups: [{name: pay, service: pay, targetGroups: [pay-a, pay-b], listener: "web:80", testListener: "web:8080"}]
//	scalableTargets: [{service: pay, min: 2, max: 8, suspended: [in], policy: {name: cpu, target: 50}}]
//	principals: [{arn: "arn:aws:iam::123456789012:role/deployer", policies: ['{"Statement": …}']}]  # boundary: likewise; what SimulatePrincipalPolicy decides by
//	images: {"shop:slow": {version: v1, latency: 50ms}}  # options as in image.Options
//	knobs: {delays: none, provisioning: 2s..4s, throttle: true}
//	faults: ["throttle ecs:CreateTaskSet times=1"]
//	settled: true              # false: everything begins now
//
// It is made through the APIs, so that what they refuse is an error here. What it
// describes has been there for ten minutes, unless settled is false: services run
// and their targets are healthy. Errors begin with file:line; then the world stays
// as it was. Sockets follow when the simulator listens.
func (s *Sim) Load(file string, data []byte) error {
	f, err := readWorld(file, data)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.replace(f); err != nil {
		return err
	}
	s.file = f
	return nil
}

// Reset makes the world as it was at start: the world file again, or nothing. No
// fault, no traffic and no draw of the time before is left.
func (s *Sim) Reset() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.file
	if f == nil {
		f = &worldFile{}
	}
	return s.replace(f)
}

// replace ends the world and begins the one of a file. s.mu is held.
func (s *Sim) replace(f *worldFile) error {
	e, err := s.raise(f, s.live != nil)
	if err != nil {
		return err
	}
	old := s.now.Load()
	if s.live != nil {
		s.live.rest(old)
	}
	s.now.Store(e)
	if s.live != nil {
		s.live.wake(e)
	}
	return nil
}

// raise makes the world of a file. A world that will have sockets is told so from
// its beginning: what its images do is then asked of them.
func (s *Sim) raise(f *worldFile, listening bool) (*era, error) {
	start := s.options.Clock.Now()
	if f.tree != nil && (f.Settled == nil || *f.Settled) {
		start = start.Add(-lead)
	}
	e := s.begin(f, start)
	if listening {
		e.world.Sink(func(world.Effect) {})
	}
	if f.tree == nil {
		return e, nil
	}
	e.clock.hold(start)
	l := layer{era: e, file: f, ctx: wire.WithCaller(context.Background(), wire.Caller{AccessKey: e.account, Account: e.account}, e.region),
		groups: map[string]string{}, listeners: map[string]string{}, names: map[string]string{}}
	err := l.all()
	e.clock.release()
	if err != nil {
		return nil, f.at(err)
	}
	e.world.Advance()
	for i, line := range f.Faults {
		x, err := e.parse(line)
		if err != nil {
			return nil, f.at(refused(fmt.Sprintf("faults[%d]", i), err))
		}
		e.faults.Inject(x)
	}
	return e, nil
}

// asked reports whether the file's services have images whose answers can only be
// had by asking.
func (s *Sim) asked(f *worldFile) bool {
	all := s.images(f)
	return slices.ContainsFunc(f.Services, func(svc serviceFile) bool {
		b, ok := all.Lookup(svc.Image)
		return ok && !b.Modelled()
	})
}
