package scheduler

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// isHealthy reports whether a task passes every check that it has: all its targets are healthy, and
// each essential container with a health check is HEALTHY. A task without any check is healthy when
// it runs.
func isHealthy(t *world.Task) bool {
	if t.LastStatus != "RUNNING" || t.DesiredStatus != "RUNNING" || stateOfTask(t).groupMissing {
		return false
	}
	for _, x := range stateOfTask(t).targets {
		if x.Task != t || x.State != "healthy" {
			return false
		}
	}
	return worstCheckedHealth(t) == "HEALTHY"
}

// isReady reports isHealthy as a rolling update counts it: a task without any check counts only
// some time after RUNNING. at is when to check again, or zero.
func isReady(tx *world.Tx, t *world.Task) (ready bool, at time.Time) {
	if !isHealthy(t) {
		return false, at
	}
	if len(stateOfTask(t).targets) > 0 || isChecked(t) {
		return true, at
	}
	at = t.StartedAt.Add(tx.Settings().HealthyWithoutCheck)
	if at.After(tx.Now()) {
		return false, at
	}
	return true, time.Time{}
}

// isChecked reports whether an essential container has a health check: only those decide the health
// of a task (API Reference, HealthCheck).
func isChecked(t *world.Task) bool {
	return slices.ContainsFunc(t.Containers, func(c *world.Container) bool {
		return c.Spec.Essential && c.Spec.Health != nil
	})
}

// replaceReason returns why a running task must be replaced, or "". During the grace period it
// returns "" and the end of the grace period, when to check again.
func replaceReason(tx *world.Tx, t *world.Task) (reason string, at time.Time) {
	if t.LastStatus != "RUNNING" || t.DesiredStatus != "RUNNING" {
		return "", at
	}
	if t.Health == "UNHEALTHY" {
		reason = "Task failed container health checks"
	}
	if x := unhealthyTarget(t); x != nil {
		reason = "Task failed ELB health checks in (target-group " + x.Group.ARN + ")"
	}
	if grace := t.StartedAt.Add(t.Service.Grace); reason != "" && grace.After(tx.Now()) {
		return "", grace
	}
	return reason, at
}

func unhealthyTarget(t *world.Task) *world.Target {
	for _, x := range stateOfTask(t).targets {
		outside := x.State == "unused" && strings.HasPrefix(x.Description, "Target is in an Availability Zone")
		if x.Task == t && (x.State == "unhealthy" || outside) {
			return x
		}
	}
	return nil
}

// addUnhealthyEvent reports why a task is stopped.
func addUnhealthyEvent(tx *world.Tx, t *world.Task) {
	svc := t.Service
	if x := unhealthyTarget(t); x != nil && t.Instance != nil && x.ID == t.Instance.ID {
		addEvent(tx, svc, "(service %s) (instance %s) (port %d) is unhealthy in (target-group %s) due to (reason %s)",
			svc.Name, x.ID, x.Port, x.Group.ARN, x.Description)
		return
	} else if x != nil {
		addEvent(tx, svc, "(service %s) (task %s) (port %d) is unhealthy in (target-group %s) due to (reason %s)",
			svc.Name, t.ID, x.Port, x.Group.ARN, x.Description)
		return
	}
	addEvent(tx, svc, "(service %s) (task %s) failed container health checks.", svc.Name, t.ID)
}

// scheduleNextCheck finds the next check that changes a container's health and schedules it. The
// answers of a modelled image are known in advance, so a container whose health does not change
// costs nothing. k is the number of the last check; fails is how many checks in a row failed up to
// it.
func scheduleNextCheck(tx *world.Tx, t *world.Task, c *world.Container, k, fails int) {
	h, b := c.Spec.Health, c.Behaviour
	every := h.Interval
	if every <= 0 {
		every = 30 * time.Second
	}
	passed := c.Health != "UNKNOWN"
	for {
		k++
		since := time.Duration(k) * every
		good := !b.IsModelled() || b.Answer(momentOf(t, c, c.StartedAt.Add(since))) == http.StatusOK
		next := c.Health
		switch {
		case good:
			fails, next, passed = 0, "HEALTHY", true
		case passed || since > h.StartPeriod:
			if fails++; fails >= max(h.Retries, 1) {
				next = "UNHEALTHY"
			}
		}
		if next != c.Health {
			tx.At(c.StartedAt.Add(since), func(tx *world.Tx) { setContainerHealth(tx, t, c, next, k, fails) })
			return
		}
		if _, more := b.NextChange(since); !more && (good || c.Health == "UNHEALTHY") || !b.IsModelled() {
			return
		}
	}
}

func setContainerHealth(tx *world.Tx, t *world.Task, c *world.Container, health string, k, fails int) {
	if c.Status != "RUNNING" || t.DesiredStatus != "RUNNING" {
		return
	}
	c.Health = health
	t.Health = taskHealth(t)
	t.Version++
	tx.Log("task", t.ID, "container %s is %s", c.Spec.Name, health)
	tx.Changed(world.TaskChanged, t)
	reportHealth(tx, t)
	continueStart(tx, t)
	scheduleNextCheck(tx, t, c, k, fails)
}

// taskHealth returns the worst health of a task's essential containers, in the order UNHEALTHY,
// UNKNOWN, HEALTHY.
func taskHealth(t *world.Task) string {
	health := "HEALTHY"
	for _, c := range t.Containers {
		switch {
		case !c.Spec.Essential:
		case c.Health == "UNHEALTHY":
			return "UNHEALTHY"
		case c.Health != "HEALTHY":
			health = "UNKNOWN"
		}
	}
	return health
}
