package rehearse

import (
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// A canary service next to a service with deployment controller ECS.

// hasCanaryService reports whether the case's canary is a service of its own.
func (c Case) hasCanaryService() bool {
	return c.World.Controller == "ECS" && (c.World.HostingServices || len(c.Pipeline) > 0)
}

func (c Case) writeCanaryService(d *draft) {
	if !c.hasCanaryService() {
		return
	}
	if !c.World.usesCloudMap() {
		c.writeGroups(d)
	}
	if c.World.HostingServices {
		writeLine(&d.input, "  hosting: services")
	}
}

// findCanaryService returns the canary service, or nil.
func (f *rehearsal) findCanaryService(tx *world.Tx) *world.Service {
	s, _ := tx.Services.Get(f.World.Cluster + "/" + plan.CanaryServiceName(f.World.Service))
	return s
}

// changeCanaryService calls an operation on the canary service, if it is ACTIVE.
func (f *rehearsal) changeCanaryService(operation string, in map[string]any) {
	stands := false
	f.inWorld(func(tx *world.Tx) {
		s := f.findCanaryService(tx)
		stands = s != nil && s.Status == "ACTIVE"
	})
	if stands {
		in["cluster"], in["service"] = f.World.Cluster, plan.CanaryServiceName(f.World.Service)
		f.callECS(operation, in)
	}
}

// taskSets returns the task sets and deployments of both variants, of the service and of the canary
// service.
func (f *rehearsal) taskSets(tx *world.Tx) (all []*world.TaskSet) {
	for _, s := range []*world.Service{f.findService(tx), f.findCanaryService(tx)} {
		if s != nil {
			all = append(all, s.TaskSets...)
		}
	}
	return all
}

// checkCanaryDeleted checks that the canary service was deleted with its deployment (P3).
func (f *rehearsal) checkCanaryDeleted(tx *world.Tx) {
	if s := f.findCanaryService(tx); s != nil && s.Status != "INACTIVE" {
		f.addViolation("P3", "service %s still exists (%s, %d tasks)", s.Name, s.Status, s.Desired)
	}
}

// checkCanaryEmptied checks that a canary service is deleted only after its tasks have stopped
// (P1).
func (f *rehearsal) checkCanaryEmptied(s *world.Service) {
	if s.Name != plan.CanaryServiceName(f.World.Service) || s.Status != "DRAINING" || f.deletedSets[s.ID()] ||
		f.externalActs || f.hasFault("stale") {
		return
	}
	f.deletedSets[s.ID()] = true
	for _, ts := range s.TaskSets {
		if n := ts.Count((*world.Task).IsRunning); n > 0 {
			f.addViolation("P1", "service %s was deleted while %d of its tasks ran", s.Name, n)
		}
	}
}
