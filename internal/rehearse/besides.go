package rehearse

import (
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// A canary service next to a service with deployment controller ECS.

// hasCanaryService reports whether the case's canary is a service of its own.
func (c Case) hostsBeside() bool {
	return c.World.Controller == "ECS" && (c.World.Beside || len(c.Pipeline) > 0)
}

func (c Case) besideParts(d *draft) {
	if !c.hostsBeside() {
		return
	}
	if !c.World.byName() {
		c.groups(d)
	}
	if c.World.Beside {
		line(&d.input, "  hosting: services")
	}
}

// findCanaryService returns the canary service, or nil.
func (f *field) canaryService(tx *world.Tx) *world.Service {
	s, _ := tx.Services.Get(f.World.Cluster + "/" + plan.BesideName(f.World.Service))
	return s
}

// changeCanaryService calls an operation on the canary service, if it is ACTIVE.
func (f *field) onBeside(operation string, in map[string]any) {
	stands := false
	f.inWorld(func(tx *world.Tx) {
		s := f.canaryService(tx)
		stands = s != nil && s.Status == "ACTIVE"
	})
	if stands {
		in["cluster"], in["service"] = f.World.Cluster, plan.BesideName(f.World.Service)
		f.ask(operation, in)
	}
}

// taskSets returns the task sets and deployments of both variants, of the service and of the canary
// service.
func (f *field) sets(tx *world.Tx) (all []*world.TaskSet) {
	for _, s := range []*world.Service{f.service(tx), f.canaryService(tx)} {
		if s != nil {
			all = append(all, s.TaskSets...)
		}
	}
	return all
}

// checkCanaryDeleted checks that the canary service was deleted with its deployment (P3).
func (f *field) besideGone(tx *world.Tx) {
	if s := f.canaryService(tx); s != nil && s.Status != "INACTIVE" {
		f.violate("P3", "service %s is left over (%s, %d tasks)", s.Name, s.Status, s.Desired)
	}
}

// checkCanaryEmptied checks that a canary service is deleted only after its tasks have stopped
// (P1).
func (f *field) besideEmptied(s *world.Service) {
	if s.Name != plan.BesideName(f.World.Service) || s.Status != "DRAINING" || f.deleted[s.ID()] || f.outside || f.faulty("stale") {
		return
	}
	f.deleted[s.ID()] = true
	for _, ts := range s.TaskSets {
		if n := ts.Count((*world.Task).Running); n > 0 {
			f.violate("P1", "service %s was deleted while %d of its tasks ran", s.Name, n)
		}
	}
}
