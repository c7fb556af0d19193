package scheduler

import (
	"github.com/sluice-ecs/sluice/awssim/world"
)

// Exited is told when a container whose image is a program of the host ended.
// An unknown task or container, or one that has stopped, is ignored.
func (s *Scheduler) Exited(tx *world.Tx, taskARN, container string, code int) {
	t, ok := tx.Tasks.Get(taskARN)
	if !ok {
		return
	}
	for _, c := range t.Containers {
		if c.Spec.Name == container {
			s.exit(tx, t, c, code, "")
		}
	}
}

// Crash ends a running task's essential containers with an exit code, as a
// fault. A task that does not run is left alone.
func (s *Scheduler) Crash(tx *world.Tx, t *world.Task, code int) {
	for _, c := range t.Containers {
		if c.Spec.Essential {
			s.exit(tx, t, c, code, "")
		}
	}
}

// exit notes that a container ended. The first essential one takes the whole
// task with it.
func (s *Scheduler) exit(tx *world.Tx, t *world.Task, c *world.Container, code int, reason string) {
	if c.Status != "RUNNING" {
		return
	}
	c.Status, c.ExitCode, c.Reason = "STOPPED", &code, reason
	tx.Log("task", t.ID, "container %s exited %d", c.Spec.Name, code)
	t.Version++
	tx.Changed(world.TaskChanged, t)
	if t.LastStatus == "STOPPING" {
		if allStopped(t) {
			s.dismantle(tx, t)
		}
		return
	}
	if t.DesiredStatus == "RUNNING" && (c.Spec.Essential || allStopped(t)) {
		exited(tx, t)
		s.fall(tx, t, ByExit, "Essential container in task exited")
	}
}

// fall is the end of a task that stopped by itself. Its targets are found out
// and taken away a moment later; requests that reach them until then are lost.
func (s *Scheduler) fall(tx *world.Tx, t *world.Task, code, reason string) {
	if !s.condemn(tx, t, code, reason) {
		return
	}
	tx.SetStatus(t, "DEACTIVATING")
	s.later(tx, t, tx.Knobs().Deactivating, "deactivating", func(tx *world.Tx, t *world.Task) {
		s.deregister(tx, t)
		s.terminate(tx, t)
	})
}

// lose takes a task down with the zone that it stands in.
func (s *Scheduler) lose(tx *world.Tx, t *world.Task) {
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
		s.fall(tx, t, ByHost, "ECS is performing maintenance on the underlying infrastructure hosting the task.")
	case t.LastStatus == "RUNNING" || t.LastStatus == "STOPPING":
		s.deregister(tx, t)
		s.dismantle(tx, t)
	}
}

func (s *Scheduler) failToStart(tx *world.Tx, t *world.Task, reason string) {
	s.condemn(tx, t, ByStart, reason)
	if t.Set != nil {
		tellRefused(tx, t, reason)
		s.startFailed(tx, t)
	}
}
