package scheduler

import (
	"fmt"
	"strings"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// maxEvents is how many events a service keeps, newest first.
const keptEvents = 100

// addEvent adds an event to a service.
func tell(tx *world.Tx, svc *world.Service, format string, args ...any) {
	e := world.ServiceEvent{ID: tx.NewUUID("event"), At: tx.Now(), Message: fmt.Sprintf(format, args...)}
	old := svc.Events[:min(len(svc.Events), keptEvents-1)]
	svc.Events = append(append(make([]world.ServiceEvent, 0, len(old)+1), e), old...)
	tx.Log("event", svc.ID(), "%s", e.Message)
}

// eventCount counts changes that are reported in one event at the scheduler's next turn.
type tally struct {
	what, of string
	n        int
}

func count(svc *world.Service, what, of string) {
	if svc == nil {
		return
	}
	n := serviceNote(svc)
	for i := range n.tally {
		if n.tally[i].what == what && n.tally[i].of == of {
			n.tally[i].n++
			return
		}
	}
	n.tally = append(n.tally, tally{what, of, 1})
}

func countDraining(t *world.Task) {
	if t.Set != nil {
		count(t.Service, "draining", t.Set.ID)
	}
}

// addCountedEvents adds the events for the changes counted since the last turn.
func flush(tx *world.Tx, svc *world.Service) {
	n := serviceNote(svc)
	for _, c := range n.tally {
		if c.what == "draining" {
			tell(tx, svc, "(service %s, taskSet %s) has begun draining connections on %d tasks.", svc.Name, c.of, c.n)
			continue
		}
		tell(tx, svc, "(service %s) %s %d targets in (target-group %s)", svc.Name, c.what, c.n, c.of)
	}
	n.tally = nil
}

// tasksPerEvent is how many tasks one event names.
const perEvent = 10

func tellStarted(tx *world.Tx, svc *world.Service, tasks []*world.Task) {
	for ; len(tasks) > 0; tasks = tasks[min(perEvent, len(tasks)):] {
		batch := tasks[:min(perEvent, len(tasks))]
		tell(tx, svc, "(service %s) has started %d tasks: %s.", svc.Name, len(batch), named(batch))
	}
}

func tellStopped(tx *world.Tx, svc *world.Service, tasks []*world.Task) {
	for ; len(tasks) > 0; tasks = tasks[min(perEvent, len(tasks)):] {
		batch := tasks[:min(perEvent, len(tasks))]
		tell(tx, svc, "(service %s) has stopped %d running tasks: %s.", svc.Name, len(batch), named(batch))
	}
}

func named(tasks []*world.Task) string {
	names := make([]string, len(tasks))
	for i, t := range tasks {
		names[i] = "(task " + t.ID + ")"
	}
	return strings.Join(names, " ")
}

// addMissingTargetEvent reports that another actor deregistered a running task's target. The
// scheduler does not register the target again.
func tellAstray(tx *world.Tx, t *world.Task, target *world.Target) {
	if t.Set != nil && t.LastStatus == "RUNNING" && t.DesiredStatus == "RUNNING" {
		tell(tx, t.Service, "(service %s) task set (%s) (task %s) is not healthy in target-group (%s) due to TARGET IS NOT FOUND",
			t.Service.Name, t.Set.ID, t.ID, target.Group.ARN)
	}
}

// addRoleEvent reports that the role of a task cannot be assumed, once until the service changes.
func tellRefused(tx *world.Tx, t *world.Task, reason string) {
	if n := setNote(t.Set); !n.refused && strings.HasPrefix(reason, "ECS was unable to assume the role") {
		n.refused = true
		tell(tx, t.Service, "(service %s) failed to launch a task with (error %s)", t.Service.Name, reason)
	}
}
