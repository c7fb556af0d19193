package scheduler

import (
	"fmt"
	"strings"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// maxEvents is how many events a service keeps, newest first.
const maxEvents = 100

// addEvent adds an event to a service.
func addEvent(tx *world.Tx, svc *world.Service, format string, args ...any) {
	e := world.ServiceEvent{ID: tx.NewUUID("event"), At: tx.Now(), Message: fmt.Sprintf(format, args...)}
	old := svc.Events[:min(len(svc.Events), maxEvents-1)]
	svc.Events = append(append(make([]world.ServiceEvent, 0, len(old)+1), e), old...)
	tx.Log("event", svc.ID(), "%s", e.Message)
}

// eventCount counts changes that are reported in one event at the scheduler's next turn.
type eventCount struct {
	what, of string
	n        int
}

func countEvent(svc *world.Service, what, of string) {
	if svc == nil {
		return
	}
	n := stateOfService(svc)
	for i := range n.eventCounts {
		if n.eventCounts[i].what == what && n.eventCounts[i].of == of {
			n.eventCounts[i].n++
			return
		}
	}
	n.eventCounts = append(n.eventCounts, eventCount{what, of, 1})
}

func countDraining(t *world.Task) {
	if t.Set != nil {
		countEvent(t.Service, "draining", t.Set.ID)
	}
}

// addCountedEvents adds the events for the changes counted since the last turn.
func addCountedEvents(tx *world.Tx, svc *world.Service) {
	n := stateOfService(svc)
	for _, c := range n.eventCounts {
		if c.what == "draining" {
			addEvent(tx, svc, "(service %s, taskSet %s) has begun draining connections on %d tasks.", svc.Name, c.of,
				c.n)
			continue
		}
		addEvent(tx, svc, "(service %s) %s %d targets in (target-group %s)", svc.Name, c.what, c.n, c.of)
	}
	n.eventCounts = nil
}

// tasksPerEvent is how many tasks one event names.
const tasksPerEvent = 10

func addStartedEvents(tx *world.Tx, svc *world.Service, tasks []*world.Task) {
	for ; len(tasks) > 0; tasks = tasks[min(tasksPerEvent, len(tasks)):] {
		batch := tasks[:min(tasksPerEvent, len(tasks))]
		addEvent(tx, svc, "(service %s) has started %d tasks: %s.", svc.Name, len(batch), taskNames(batch))
	}
}

func addStoppedEvents(tx *world.Tx, svc *world.Service, tasks []*world.Task) {
	for ; len(tasks) > 0; tasks = tasks[min(tasksPerEvent, len(tasks)):] {
		batch := tasks[:min(tasksPerEvent, len(tasks))]
		addEvent(tx, svc, "(service %s) has stopped %d running tasks: %s.", svc.Name, len(batch), taskNames(batch))
	}
}

func taskNames(tasks []*world.Task) string {
	names := make([]string, len(tasks))
	for i, t := range tasks {
		names[i] = "(task " + t.ID + ")"
	}
	return strings.Join(names, " ")
}

// addMissingTargetEvent reports that another actor deregistered a running task's target. The
// scheduler does not register the target again.
func addMissingTargetEvent(tx *world.Tx, t *world.Task, target *world.Target) {
	if t.Set != nil && t.LastStatus == "RUNNING" && t.DesiredStatus == "RUNNING" {
		addEvent(tx, t.Service, "(service %s) task set (%s) (task %s) is not healthy in target-group (%s) due to "+
			"TARGET IS NOT FOUND",
			t.Service.Name, t.Set.ID, t.ID, target.Group.ARN)
	}
}

// addRoleEvent reports that the role of a task cannot be assumed, once until the service changes.
func addRoleEvent(tx *world.Tx, t *world.Task, reason string) {
	if n := stateOfSet(t.Set); !n.roleReported && strings.HasPrefix(reason, "ECS was unable to assume the role") {
		n.roleReported = true
		addEvent(tx, t.Service, "(service %s) failed to launch a task with (error %s)", t.Service.Name, reason)
	}
}
