package rehearse

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/callers"
	"github.com/sluice-ecs/sluice/awssim/registry"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// What a world has whose service callers find by a name of Cloud Map.

const (
	usualRegistry = "arn:aws:servicediscovery:us-east-1:123456789012:service/srv-0123456789abcdef"
	namespace     = "shop.local"
	usualTTL      = time.Minute // what the console of ECS proposes
)

// registry is the ARN of the Cloud Map service.
func (w World) registry() string { return cmp.Or(w.Registry, usualRegistry) }

// names takes the shape from the files of a service that is found by a name.
func (w *World) names(app *appfile.Application) {
	arn, port, ok := plan.RegistryOf(app)
	if !ok {
		return
	}
	w.TTL, w.Registry = usualTTL, arn
	if parts := strings.Split(arn, ":"); len(parts) > 5 {
		w.Region, w.Account = parts[3], parts[4]
	}
	for _, c := range app.Task.Input.ContainerDefinitions {
		if c.HealthCheck != nil && w.Check == 0 {
			w.Check = 30 * time.Second // AWS's default
			if c.HealthCheck.Interval != nil {
				w.Check = time.Duration(*c.HealthCheck.Interval) * time.Second
			}
		}
		for _, p := range c.PortMappings {
			if port == 0 && p.ContainerPort != nil {
				port = *p.ContainerPort
			}
		}
	}
	if port > 0 {
		w.Port = port
	}
}

// byName reports whether callers find the service by a name, and not through a load
// balancer.
func (w World) byName() bool { return w.TTL > 0 }

// named is the part of the simulator's file.
func (w World) named(line func(string, ...any), serving string) {
	line("namespaces:\n  - {name: %s, kind: private, services: [{name: %s, id: %s, records: {A: %s}, health: custom}]}", namespace, w.Service, sluice.ARNName(w.registry()), w.TTL)
	check := ""
	if w.Check > 0 {
		check = fmt.Sprintf(", containerCheck: %s", w.Check)
	}
	line("services:\n  - {name: %s, controller: %s, count: %d, image: %q, port: %d, registry: %s.%s, stopTimeout: 120s%s}",
		w.Service, w.Controller, w.Tasks, serving, w.Port, w.Service, namespace, check)
	if w.Others {
		line("  - {name: others, controller: ECS, count: 2, image: \"sim/others:v1\", port: 80}")
	}
}

// namedParts are what the files of such an application say.
func (c Case) namedParts(d *draft) {
	if !c.World.byName() {
		return
	}
	line(&d.input, "  accessType: SERVICE_DISCOVERY")
	line(&d.service, "deploymentController: {type: %s}\nserviceRegistries: [{registryArn: %q}]", c.World.Controller, c.World.registry())
	line(&d.task, "    stopTimeout: 120")
	if c.World.Check > 0 {
		line(&d.task, "    healthCheck: {command: [CMD, 'true'], interval: %d}", int(c.World.Check.Seconds()))
	}
}

// callByName lets callers look the name up: some in DNS, some by DiscoverInstances.
func (f *field) callByName() {
	for _, c := range []callers.NameCaller{
		{},
		{KeepAlive: 30 * time.Second, Retry: true},
		{Poll: 10 * time.Second, Query: registry.Query{Health: registry.HealthyOrAll}},
	} {
		c.Key, c.Namespace, c.Service, c.Port, c.Rate = f.key(), namespace, f.World.Service, f.World.Port, float64(cmp.Or(f.World.Rate, Rate))
		f.byNames = append(f.byNames, callers.AttachByName(f.sim.World(), f.sim.Registry(), c))
	}
}

// reports are what became of all callers' requests.
func (f *field) reports() (all []callers.Report) {
	for _, t := range f.tallies {
		all = append(all, t.Report())
	}
	for _, t := range f.byNames {
		r := t.Report()
		all = append(all, r.Report)
		for _, b := range r.Bare {
			f.bare = append(f.bare, fmt.Sprintf("%s to %s after the start: %s", b.From.Sub(f.began).Round(time.Second), b.Till.Sub(f.began).Round(time.Second), b.Why))
		}
	}
	return all
}

// filled: the name is never empty, and never points at stopped tasks alone (P1).
func (f *field) filled() {
	if len(f.bare) > 0 && !f.lossy() {
		f.violate("P1", "the name was no use: %s", strings.Join(f.bare, "; "))
	}
}

// found are the instances under the name, in order.
func (f *field) found(tx *world.Tx) (ids []string) {
	if r, ok := tx.Registries.Get(f.World.registry()); ok {
		ids = r.Instances.Keys()
	}
	slices.Sort(ids)
	return ids
}

// registered: the tasks that serve are found, as ECS registers them, and nobody
// else (P3).
func (f *field) registered(tx *world.Tx, s *world.Service) {
	if !f.World.byName() || f.takenOut() || f.excuses(PutIn) || f.second1() {
		return
	}
	var want []string
	if p := s.Primary(); p != nil {
		for _, t := range p.Tasks {
			if t.Running() {
				want = append(want, t.ID)
			}
		}
	}
	slices.Sort(want)
	if got := f.found(tx); !slices.Equal(got, want) && !f.lossy() {
		f.violate("P3", "%v are found; %v serve", got, want)
	}
}

// takenOut: somebody deregisters an instance, and that stays so, or comes when nobody
// looks any more.
func (f *field) takenOut() bool {
	undone := f.Outside == "reassert" && f.result.Outcome == sluice.Succeeded && (f.World.Controller != "ECS" || f.hostsBeside())
	return slices.ContainsFunc(f.Hands, func(h Hand) bool {
		watched := h.Stage > 0 && h.At == 0 && h.Stage < len(f.Pipeline)
		return strings.HasPrefix(h.Does, TakeOut) && !(undone && watched)
	})
}

// foundWords is who is found, for the state of a service.
func (f *field) foundWords(tx *world.Tx) string {
	ours := 0
	all := f.found(tx)
	for _, id := range all {
		if strings.HasPrefix(id, plan.IDPrefix) {
			ours++
		}
	}
	return fmt.Sprintf("%d of the primary found, %d of the canary", len(all)-ours, ours)
}

// takeOut deregisters an instance, as somebody by hand: the n-th of those that are
// found. Who leaves nobody that is well loses requests alone.
func (f *field) takeOut(n int) {
	f.inWorld(func(tx *world.Tx) {
		r, ok := tx.Registries.Get(f.World.registry())
		ids := f.found(tx)
		if !ok || len(ids) < 2 {
			return
		}
		out := ids[n%len(ids)]
		well := slices.ContainsFunc(r.Instances.Values(), func(i *world.Instance) bool { return i.ID != out && i.Health == "HEALTHY" })
		if i, ok := r.Instances.Get(out); ok && well {
			tx.Withdraw(i)
		}
	})
}

// putIn registers an address that is no task's.
func (f *field) putIn() {
	f.inWorld(func(tx *world.Tx) {
		if r, ok := tx.Registries.Get(f.World.registry()); ok {
			tx.Enrol(r, "by-hand", map[string]string{world.AttributeIPv4: "10.255.255.1"})
		}
	})
}

// byName draws a service that is found by a name, and its pipeline.
func (d *draws) byName(c *Case) {
	c.World.TTL, c.World.Check = d.span(5*time.Second, 10*time.Second, time.Minute), 5*time.Second
	if d.chance(30) {
		c.World.Controller, c.Breaker = "ECS", d.chance(50)
	}
	if d.chance(10) {
		return // quick sync
	}
	add := func(format string, args ...any) { c.Pipeline = append(c.Pipeline, fmt.Sprintf(format, args...)) }
	if d.chance(40) { // blue/green
		add("ECS_CANARY_ROLLOUT scale=100")
		add("ECS_TRAFFIC_ROUTING canary=100")
		d.wait(add)
		add("ECS_PRIMARY_ROLLOUT keepOld=%t", d.chance(30) && c.World.Controller != "ECS")
		add("ECS_TRAFFIC_ROUTING primary=100")
		add("ECS_CANARY_CLEAN")
		return
	}
	add("ECS_CANARY_ROLLOUT scale=%d", 1+d.upTo(99))
	share := 0
	for range 1 + d.upTo(2) {
		share = min(95, share+1+d.upTo(40))
		add("ECS_TRAFFIC_ROUTING canary=%d", share)
		d.wait(add)
	}
	if d.chance(20) {
		add("ECS_CANARY_ROLLOUT scale=%d", 1+d.upTo(99))
	}
	add("ECS_PRIMARY_ROLLOUT keepOld=%t", d.chance(20) && c.World.Controller != "ECS")
	if d.chance(85) {
		add("ECS_TRAFFIC_ROUTING primary=100")
	}
	add("ECS_CANARY_CLEAN")
}

func (d *draws) mapFault() string {
	on := d.one("servicediscovery:*", "servicediscovery:RegisterInstance", "servicediscovery:DeregisterInstance", "servicediscovery:GetOperation",
		"servicediscovery:DiscoverInstances", "servicediscovery:ListInstances")
	switch d.upTo(5) {
	case 0:
		return fmt.Sprintf("throttle %s p=0.%d", on, 1+d.upTo(3))
	case 1:
		return fmt.Sprintf("5xx %s p=0.%d", on, 1+d.upTo(1))
	case 2:
		return fmt.Sprintf("lost-reply %s times=%d", on, 1+d.upTo(1))
	case 3:
		return fmt.Sprintf("stale servicediscovery:* by=%ds p=0.5", 1+d.upTo(4))
	case 4:
		return fmt.Sprintf("failed-operation servicediscovery:* times=%d", 1+d.upTo(1))
	}
	return fmt.Sprintf("latency %s by=%dms", on, 100*(1+d.upTo(20)))
}

// namedFlows are the courses of a service that is found by a name.
func namedFlows(with func(...func(*Case)) Case) []Flow {
	of := func(stages ...string) func(*Case) { return func(c *Case) { c.Pipeline = stages } }
	named := func(c *Case) { c.World.TTL, c.World.Check = 10*time.Second, 5*time.Second }
	canary := of("ECS_CANARY_ROLLOUT scale=50", "ECS_TRAFFIC_ROUTING canary=25", "ECS_PRIMARY_ROLLOUT", "ECS_TRAFFIC_ROUTING primary=100", "ECS_CANARY_CLEAN")
	blueGreen := of("ECS_CANARY_ROLLOUT scale=100", "ECS_TRAFFIC_ROUTING canary=100", "ECS_PRIMARY_ROLLOUT", "ECS_TRAFFIC_ROUTING primary=100", "ECS_CANARY_CLEAN")
	all := []Flow{
		{"canary by name", with(named, canary)},
		{"canary by name, without a container check", with(named, canary, func(c *Case) { c.World.Check = 0 })},
		{"canary by name that crashes", with(named, canary, func(c *Case) { c.New = crashes })},
		{"blue/green by name", with(named, blueGreen)},
		{"quick sync by name", with(named)},
	}
	// ECS stops the tasks of a rolling service without waiting for any TTL.
	beside := func(c *Case) { named(c); c.World.Controller, c.Old, c.New = "ECS", "term=30s", "term=30s" }
	all = append(all, Flow{"beside: canary by name", with(beside, canary)}, Flow{"beside: blue/green by name", with(beside, blueGreen)})
	for _, f := range []Flow{{"canary by name", with(named, canary)}, {"blue/green by name", with(named, blueGreen)},
		{"beside: canary by name", with(beside, canary)}, {"beside: blue/green by name", with(beside, blueGreen)}} {
		all = append(all, backFromEach(f.Name, f.Case)...)
	}
	return all
}
