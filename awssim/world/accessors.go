package world

import "time"

// IsStrict reports whether the world panics when an invariant is violated. Otherwise it logs the
// violation.
func (w *World) IsStrict() bool { return w.strict }

// Now returns the clock's time, in UTC. It runs no due event.
func (w *World) Now() time.Time { return w.clock.Now().UTC() }

// InterfaceID returns the id of the task's elastic network interface. ECS returns it in the task's
// attachment, EC2 in DescribeNetworkInterfaces.
func (t *Task) InterfaceID() string {
	id := t.ID + "0000000000000000"
	return "eni-0" + id[:16]
}
