package scheduler

import (
	"github.com/sluice-ecs/sluice/awssim/world"
)

// ProcessExited records that a container ended whose image is a program of the host. It ignores an
// unknown task or container and one that has stopped.
func (s *Scheduler) ProcessExited(tx *world.Tx, taskARN, container string, code int) {
	t, ok := tx.Tasks.Get(taskARN)
	if !ok {
		return
	}
	for _, c := range t.Containers {
		if c.Spec.Name == container {
			containerExited(tx, t, c, code, "")
		}
	}
}

// CrashTask ends a running task's essential containers with an exit code, as a fault. It ignores a
// task that does not run.
func (s *Scheduler) CrashTask(tx *world.Tx, t *world.Task, code int) {
	for _, c := range t.Containers {
		if c.Spec.Essential {
			containerExited(tx, t, c, code, "")
		}
	}
}

// containerExited records that a container ended. The first essential container that ends stops the
// whole task.
func containerExited(tx *world.Tx, t *world.Task, c *world.Container, code int, reason string) {
	if c.Status != "RUNNING" {
		return
	}
	c.Status, c.ExitCode, c.Reason = "STOPPED", &code, reason
	tx.Log("task", t.ID, "container %s exited %d", c.Spec.Name, code)
	t.Version++
	tx.Changed(world.TaskChanged, t)
	if t.LastStatus == "STOPPING" {
		if allStopped(t) {
			startDeprovisioning(tx, t)
		}
		return
	}
	if t.DesiredStatus == "RUNNING" && (c.Spec.Essential || allStopped(t)) {
		countExit(tx, t)
		stopWithoutDrain(tx, t, ByExit, "Essential container in task exited")
		return
	}
	continueStart(tx, t)
}

// stopWithoutDrain stops a task that ended by itself or lost its host. Its targets are deregistered
// after the setting Deactivating; requests sent to them until then are lost.
func stopWithoutDrain(tx *world.Tx, t *world.Task, code, reason string) {
	if !setDesiredStopped(tx, t, code, reason) {
		return
	}
	tx.SetStatus(t, "DEACTIVATING")
	scheduleStep(tx, t, tx.Settings().Deactivating, "deactivating", func(tx *world.Tx, t *world.Task) {
		removeFromTraffic(tx, t)
		sendStopSignal(tx, t)
	})
}

// InterruptTask stops a task because Fargate Spot takes its capacity back. The stop signal is the
// two-minute warning, and SIGKILL follows after the stop timeout. Targets are deregistered only after
// the setting Deactivating: AWS's documentation has no order, and this one is the unkind one. A task
// must serve for some seconds after SIGTERM to lose no request.
func (s *Scheduler) InterruptTask(tx *world.Tx, t *world.Task) {
	if !setDesiredStopped(tx, t, BySpot, "Your Spot Task was interrupted.") {
		return
	}
	k := tx.Settings().Deactivating
	tx.After(tx.RandomBetween(k.Min, k.Max, "interrupted", t.ID, 0), func(tx *world.Tx) {
		if t.LastStatus != "STOPPED" {
			removeFromTraffic(tx, t)
		}
	})
	sendStopSignal(tx, t)
}

// stopInLostZone stops a task whose zone is lost.
func stopInLostZone(tx *world.Tx, t *world.Task) {
	for _, c := range t.Containers {
		if c.Status == "RUNNING" {
			code := 137
			c.Status, c.ExitCode = "STOPPED", &code
		}
	}
	tx.Emit(world.SignalProcess{Key: tx.Key, Task: t.ARN, Kill: true})
	tx.Changed(world.TaskChanged, t)
	switch {
	case t.DesiredStatus == "RUNNING":
		stopWithoutDrain(tx, t, ByHost,
			"ECS is performing maintenance on the underlying infrastructure hosting the task.")
	case t.LastStatus == "RUNNING" || t.LastStatus == "STOPPING":
		removeFromTraffic(tx, t)
		startDeprovisioning(tx, t)
	}
}

func failToStart(tx *world.Tx, t *world.Task, reason string) {
	if setDesiredStopped(tx, t, ByStart, reason) {
		sendStopSignal(tx, t)
	}
	if t.Set != nil {
		addRoleEvent(tx, t, reason)
		countFailedStart(tx, t)
	}
}
