package rehearse

import (
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// setChecks checks which task sets are created and deleted, and when.
type setChecks struct {
	env        *Environment
	report     *Report
	deployment *Deployment

	byExternalID map[string]string // external ID -> ID of the task set; not those that somebody else deleted
	own          map[string]bool   // IDs of the task sets that this deployment created
	deleted      map[string]bool   // task sets, by ID
	initial      map[string]bool   // IDs of the task sets and deployments at the start
	oldID        string            // ID of the task set that served
}

func newSetChecks(env *Environment, report *Report, d *Deployment) *setChecks {
	return &setChecks{env: env, report: report, deployment: d, byExternalID: map[string]string{},
		own: map[string]bool{}, deleted: map[string]bool{}, initial: map[string]bool{}}
}

// noteStart records that AWS has created a task set or a deployment for the rehearsed deployment.
func (c *setChecks) noteStart(ts *world.TaskSet) {
	if !c.deployment.startedAt.IsZero() && !c.initial[ts.ID] {
		c.report.Result.Started = true
	}
}

// checkUnique checks that an action creates its task set once (P3), unless somebody else deletes it.
func (c *setChecks) checkUnique(ts *world.TaskSet) {
	if ts.ExternalID == "" || ts.Status == "DRAINING" || ts.Status == "INACTIVE" {
		return
	}
	if id, ok := c.byExternalID[ts.ExternalID]; ok && id != ts.ID {
		c.report.AddViolation("P3", "the task set of %s was created twice: %s and %s", ts.ExternalID, id, ts.ID)
	}
	c.byExternalID[ts.ExternalID] = ts.ID
	c.own[ts.ID] = plan.IsSluiceID(ts.ExternalID)
}

// isOwnSet reports whether this deployment created a task set.
func (c *setChecks) isOwnSet(id string) bool { return c.own[id] }

// checkEmptied checks that a task set is deleted only after its tasks have stopped. The order is:
// shift weight, drain, scale down, delete (P1).
func (c *setChecks) checkEmptied(ts *world.TaskSet) {
	if ts.Status == "DRAINING" && c.env.externalActs {
		delete(c.byExternalID, ts.ExternalID)
	}
	if ts.Status != "DRAINING" || c.deleted[ts.ID] || c.env.externalActs || ts.Service.Status != "ACTIVE" ||
		ts.Service.Controller != "EXTERNAL" || c.env.Case.HasFault("stale") {
		return
	}
	c.deleted[ts.ID] = true
	if n := ts.Count((*world.Task).IsRunning); n > 0 {
		c.report.AddViolation("P1", "task set %s was deleted while %d of its tasks ran", ts.ID, n)
	}
}

// checkCanaryEmptied checks that a canary service is deleted only after its tasks have stopped
// (P1).
func (c *setChecks) checkCanaryEmptied(s *world.Service) {
	if s.Name != plan.CanaryServiceName(c.env.Case.World.Service) || s.Status != "DRAINING" || c.deleted[s.ID()] ||
		c.env.externalActs || c.env.Case.HasFault("stale") {
		return
	}
	c.deleted[s.ID()] = true
	for _, ts := range s.TaskSets {
		if n := ts.Count((*world.Task).IsRunning); n > 0 {
			c.report.AddViolation("P1", "service %s was deleted while %d of its tasks ran", s.Name, n)
		}
	}
}
