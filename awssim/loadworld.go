package awssim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// leadTime is how long before now a world file is loaded, so that the world has reached its steady
// state: load balancers are provisioned, tasks run, targets are healthy.
const leadTime = 10 * time.Minute

// Load replaces the world with the one that a YAML file describes:
//
//	account: "123456789012"    # and region; by default those of Options
//	region: us-east-1
//	subnets: [subnet-…]        # ids of the default network's subnets, in zones a, b, c; services run in these
//	clusters: [prod]
//	logGroups: [/ecs/web]      # and securityGroups: [sg-…], alarms: [errors], which are in state OK
//	capacity: [{cluster: prod, instances: 3, capacityProviders: [FARGATE, FARGATE_SPOT]}]  # defaultStrategy: [{provider: FARGATE_SPOT, weight: 1}]
//	targetGroups:
//	  - {name: web-primary, arn: …, port: 80, deregistrationDelay: 10s, healthCheck: {interval: 5s}}
//	  - {name: web-canary}
//	loadBalancers:
//	  - name: web              # arn: pins the ARN; also for listeners, rules, groups
//	    listeners:
//	      - port: 80
//	        forward: {web-primary: 100, web-canary: 0}   # stickiness: 1h; or fixed: {status: 404, body: …}
//	        rules: [{priority: 1, header: {X-Canary: always}, forward: {web-canary: 1}}]
//	namespaces:
//	  - name: shop.local       # kind: private (the default), public or http; id: pins the id; also for services
//	    services: [{name: api, records: {A: 10s}}]   # routing: weighted; health: none
//	services:
//	  - {name: api, count: 4, image: "sim/web:v1", port: 80, registry: api.shop.local}
//	  - {name: web, count: 4, image: "sim/web:v1", port: 80, targetGroup: web-primary}  # controller: ECS (the default) or EXTERNAL
//	  - {name: pay, count: 2, image: "sim/pay:v1", targetGroup: pay-a, controller: CODE_DEPLOY, demand: 120}  # CPU that callers request, in percent of a task
//	  - {name: own, taskDefinition: {containerDefinitions: […]}, aws: {desiredCount: 2, …}}  # in AWS's shape, as its command line prints them
//	functions: [{name: validate, result: succeed, after: 5s}]  # or fail, hang: called by the hooks of deployments
//	deploymentConfigs: [{name: Half, canary: 50, every: 1m}]   # or linear
//	applications:
//	  - name: pay              # config:, ready: 10m (wait for ContinueDeployment), terminate: 5m or keepAlive, rollback: [DEPLOYMENT_FAILURE], alarms:
//	    groups: [{name: pay, service: pay, targetGroups: [pay-a, pay-b], listener: "web:80", testListener: "web:8080"}]
//	scalableTargets: [{service: pay, min: 2, max: 8, suspended: [in], policy: {name: cpu, target: 50}}]
//	principals: [{arn: "arn:aws:iam::123456789012:role/deployer", policies: ['{"Statement": …}']}]  # boundary: a policy document; SimulatePrincipalPolicy evaluates them; trusts: [ecs-tasks.amazonaws.com]
//	roles: [{name: ecsTaskExecutionRole, trusts: [ecs-tasks.amazonaws.com]}]  # principals of the world's account, without policies
//	secrets: [{name: shop/db, value: '{"password": "…"}'}]     # arn: pins the ARN
//	parameters: [{name: /shop/level, value: info}]             # type: SecureString
//	repositories: [{name: web, images: [{tag: v1, platforms: [linux/amd64, linux/arm64]}, {tag: latest, moved: true}]}]  # moved: after the tasks started
//	buckets: [{name: shop-config, objects: {prod.env: "LEVEL=info"}}]
//	stacks: [{name: network, outputs: {VpcId: vpc-…}, exports: {vpc-id: vpc-…}}]
//	images: {"shop:slow": {latency: 50ms}, "registry.test/*": {noboot: true}}  # options as in image.Options
//	knobs: {delays: none, provisioning: 2s..4s, throttle: true}
//	faults: ["throttle ecs:CreateTaskSet times=1"]
//	settled: true              # false: all resources are created now
//
// Load creates the resources through the APIs, so an error of an API is an error here. Unless
// settled is false, the resources have existed for ten minutes: services run and their targets are
// healthy. The first deployment of a service with one of ECS's own strategies or a bake time was a rolling one without,
// because those take longer; its tasks are in the target group to which the production rule forwards. Errors begin with
// file:line; after an error the world is unchanged.
// Sockets open when the simulator listens.
func (s *Sim) Load(file string, data []byte) error {
	f, err := readWorld(file, data)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.replaceWorld(f); err != nil {
		return err
	}
	s.file = f
	return nil
}

// Reset restores the world as at start: the world file, or an empty world. Faults, traffic and
// random numbers start again.
func (s *Sim) Reset() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.file
	if f == nil {
		f = &worldFile{}
	}
	return s.replaceWorld(f)
}

// replaceWorld ends the world and starts the one of a file. The caller must hold s.mu.
func (s *Sim) replaceWorld(f *worldFile) error {
	e, err := s.buildWorld(f, s.listening != nil)
	if err != nil {
		return err
	}
	old := s.current.Load()
	if s.listening != nil {
		s.listening.stopGeneration(old)
	}
	s.current.Store(e)
	if s.listening != nil {
		s.listening.startGeneration(e)
	}
	return nil
}

// buildWorld creates the world of a file. A world that will have sockets is created with an effect
// receiver, so that it asks the images for their answers over sockets.
func (s *Sim) buildWorld(f *worldFile, listening bool) (*generation, error) {
	start := s.options.Clock.Now()
	if f.isSettled() {
		start = start.Add(-leadTime)
	}
	e := s.newGeneration(f, start)
	if listening {
		e.world.SetSink(func(world.Effect) {})
	}
	if f.tree == nil {
		return e, nil
	}
	e.clock.pauseAt(start)
	l := worldBuilder{generation: e, file: f, ctx: wire.WithCaller(context.Background(),
		wire.Caller{AccessKey: e.account, Account: e.account}, e.region),
		groupARNs: map[string]string{}, listenerARNs: map[string]string{}, registryARNs: map[string]string{}}
	err := l.buildAll()
	e.clock.resume()
	if err != nil {
		return nil, f.withLine(err)
	}
	e.world.Advance()
	for _, do := range append(l.later, l.moveTags) {
		if err := do(); err != nil {
			return nil, f.withLine(err)
		}
	}
	for i, line := range f.Faults {
		x, err := e.parseFault(line)
		if err != nil {
			return nil, f.withLine(withPath(fmt.Sprintf("faults[%d]", i), err))
		}
		e.faults.Inject(x)
	}
	return e, nil
}

// hasUnmodelledImages reports whether the file's services have images whose answers only a request
// can show.
func (s *Sim) hasUnmodelledImages(f *worldFile) bool {
	all := s.imageCatalog(f)
	return slices.ContainsFunc(f.Services, func(svc serviceFile) bool {
		b, ok := all.Lookup(svc.Image)
		return ok && !b.IsModelled()
	})
}
