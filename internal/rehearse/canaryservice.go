package rehearse

import (
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// A canary service next to a service with deployment controller ECS.

// HasCanaryService reports whether the case's canary is a service of its own.
func (c Case) HasCanaryService() bool {
	return c.World.Controller == "ECS" && (c.World.HostingServices || len(c.Pipeline) > 0)
}

// FindCanaryService returns the canary service, or nil.
func (f *Rehearsal) FindCanaryService(tx *world.Tx) *world.Service {
	s, _ := tx.Services.Get(f.World.Cluster + "/" + plan.CanaryServiceName(f.World.Service))
	return s
}

// TaskSets returns the task sets and deployments of both variants, of the service and of the canary
// service.
func (f *Rehearsal) TaskSets(tx *world.Tx) (all []*world.TaskSet) {
	for _, s := range []*world.Service{f.FindService(tx), f.FindCanaryService(tx)} {
		if s != nil {
			all = append(all, s.TaskSets...)
		}
	}
	return all
}

// checkCanaryDeleted checks that the canary service was deleted with its deployment (P3).
func (f *Rehearsal) checkCanaryDeleted(tx *world.Tx) {
	if s := f.FindCanaryService(tx); s != nil && s.Status != "INACTIVE" {
		f.AddViolation("P3", "service %s still exists (%s, %d tasks)", s.Name, s.Status, s.Desired)
	}
}

// checkCanaryEmptied checks that a canary service is deleted only after its tasks have stopped
// (P1).
func (f *Rehearsal) checkCanaryEmptied(s *world.Service) {
	if s.Name != plan.CanaryServiceName(f.World.Service) || s.Status != "DRAINING" || f.deletedSets[s.ID()] ||
		f.externalActs || f.HasFault("stale") {
		return
	}
	f.deletedSets[s.ID()] = true
	for _, ts := range s.TaskSets {
		if n := ts.Count((*world.Task).IsRunning); n > 0 {
			f.AddViolation("P1", "service %s was deleted while %d of its tasks ran", s.Name, n)
		}
	}
}
