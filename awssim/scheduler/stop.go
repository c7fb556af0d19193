package scheduler

import (
	"slices"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// Stop codes, as the API writes them.
const (
	BySchedulers = "ServiceSchedulerInitiated"
	ByUser       = "UserInitiated"
	ByExit       = "EssentialContainerExited"
	ByStart      = "TaskFailedToStart"
	ByHost       = "TerminationNotice"
	BySpot       = "SpotInterruption"
)

// StopByUser stops a task as StopTask does. Targets are deregistered immediately; the stop signal
// does not wait for their drain unless the setting StopTaskAwaitsDrain is on. A task that is
// already stopping is ignored.
func (s *Scheduler) StopByUser(tx *world.Tx, t *world.Task, reason string) {
	if reason == "" {
		reason = "Task stopped by user"
	}
	if !setDesiredStopped(tx, t, ByUser, reason) {
		return
	}
	tx.SetStatus(t, "DEACTIVATING")
	removeFromTraffic(tx, t)
	if tx.Settings().StopTaskAwaitsDrain && !isDrained(tx, t) {
		stateOfTask(t).waitsForDrain = true
		return
	}
	scheduleStep(tx, t, tx.Settings().Deactivating, "deactivating", sendStopSignal)
}

// stopAfterDrain stops a service's task in the scheduler's order: deregister, wait for the drain,
// signal. The task stays RUNNING with desired status STOPPED for one turn of the scheduler's loop,
// as published logs show.
func stopAfterDrain(tx *world.Tx, t *world.Task, reason string) {
	if !setDesiredStopped(tx, t, BySchedulers, reason) {
		return
	}
	if len(stateOfTask(t).targets) == 0 {
		startDrain(tx, t)
		return
	}
	scheduleStep(tx, t, tx.Settings().SchedulerLoop, "retire", startDrain)
}

// setDesiredStopped sets the desired status to STOPPED and reports whether the caller must continue
// the stop. It returns false if the task is already stopping, or if no container runs and it is
// deprovisioned immediately.
func setDesiredStopped(tx *world.Tx, t *world.Task, code, reason string) bool {
	if t.DesiredStatus == "STOPPED" {
		return false
	}
	t.DesiredStatus, t.StopCode, t.StoppedReason = "STOPPED", code, reason
	t.StoppingAt = tx.Now()
	t.Version++
	tx.Log("task", t.ID, "stops: %s: %s", code, reason)
	tx.Changed(world.TaskChanged, t)
	if t.LastStatus != "RUNNING" && !hasRunningContainer(t) {
		startDeprovisioning(tx, t)
		return false
	}
	return true
}

func startDrain(tx *world.Tx, t *world.Task) {
	tx.SetStatus(t, "DEACTIVATING")
	removeFromTraffic(tx, t)
	if !isDrained(tx, t) {
		stateOfTask(t).waitsForDrain = true
		return
	}
	scheduleStep(tx, t, tx.Settings().Deactivating, "deactivating", sendStopSignal)
}

func removeFromTraffic(tx *world.Tx, t *world.Task) {
	deregisterTask(tx, t)
	had := false
	for _, x := range stateOfTask(t).targets {
		if x.Task != t || x.State == "gone" || x.State == "draining" {
			continue
		}
		tx.DeregisterTarget(x.Group, x.ID, x.Port)
		countEvent(t.Service, "deregistered", x.Group.ARN)
		had = true
	}
	if had {
		countDraining(t)
	}
}

// finishDrain continues the stop of a task whose targets are drained.
func finishDrain(tx *world.Tx, t *world.Task) {
	n := stateOfTask(t)
	if !n.waitsForDrain || !isDrained(tx, t) {
		return
	}
	n.waitsForDrain = false
	scheduleStep(tx, t, tx.Settings().Deactivating, "deactivating", sendStopSignal)
}

func isDrained(tx *world.Tx, t *world.Task) bool {
	for _, x := range stateOfTask(t).targets {
		if x.Task != t || x.State == "gone" {
			continue
		}
		if g, ok := tx.TargetGroups.Get(x.Group.ARN); ok && g == x.Group {
			return false
		}
	}
	return true
}

// sendStopSignal sends the stop signal; SIGKILL follows after the stop timeout.
func sendStopSignal(tx *world.Tx, t *world.Task) {
	if allStopped(t) {
		startDeprovisioning(tx, t)
		return
	}
	t.SignalledAt = tx.Now()
	tx.SetStatus(t, "STOPPING")
	tx.Emit(world.SignalProcess{Key: tx.Key, Task: t.ARN})
	longest := time.Duration(0)
	for _, c := range t.Containers {
		if c.Status != "RUNNING" {
			c.Status = "STOPPED"
			continue
		}
		limit := stopTimeout(t, c)
		longest = max(longest, limit)
		if b := c.Behaviour; hasModelledExit(tx, c) && !b.IgnoresTerm && b.ServesAfterTerm < limit {
			tx.After(b.ServesAfterTerm, func(tx *world.Tx) { containerExited(tx, t, c, 0, "") })
		}
	}
	scheduleAfter(tx, t, longest, killContainers)
}

func killContainers(tx *world.Tx, t *world.Task) {
	tx.Emit(world.SignalProcess{Key: tx.Key, Task: t.ARN, Kill: true})
	for _, c := range t.Containers {
		containerExited(tx, t, c, 137, "")
	}
}

// startDeprovisioning removes the network interface of a task whose containers have stopped.
// Containers that never ran have no exit code.
func startDeprovisioning(tx *world.Tx, t *world.Task) {
	for _, c := range t.Containers {
		c.Status = "STOPPED"
	}
	tx.SetStatus(t, "DEPROVISIONING")
	scheduleStep(tx, t, tx.Settings().Deprovisioning, "deprovisioning", finishStop)
}

func finishStop(tx *world.Tx, t *world.Task) {
	removeFromTraffic(tx, t)
	if t.Address.IsValid() {
		delete(tx.TasksByAddress, t.Address)
		t.Subnet.ReleaseAddress(t.Address)
	}
	if t.Set != nil {
		t.Set.Tasks = withoutTask(t.Set.Tasks, t)
	}
	if t.Instance != nil {
		t.Instance.Tasks = withoutTask(t.Instance.Tasks, t)
	}
	keep := tx.Settings().StoppedTaskRetention
	t.RemoveAfter = tx.Now().Add(keep)
	tx.SetStatus(t, "STOPPED")
	tx.After(keep, func(tx *world.Tx) { tx.Tasks.Delete(t.ARN) })
}

func withoutTask(tasks []*world.Task, t *world.Task) []*world.Task {
	if i := slices.Index(tasks, t); i >= 0 {
		return append(tasks[:i], tasks[i+1:]...)
	}
	return tasks
}

func hasRunningContainer(t *world.Task) bool {
	return slices.ContainsFunc(t.Containers, func(c *world.Container) bool { return c.Status == "RUNNING" })
}

func allStopped(t *world.Task) bool {
	for _, c := range t.Containers {
		if c.Status != "STOPPED" {
			return false
		}
	}
	return true
}
