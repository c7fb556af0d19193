package world

import "time"

// Strict reports whether the world panics where a listening one logs.
func (w *World) Strict() bool { return w.strict }

// Now is the clock's now, in UTC. It runs nothing that fell due.
func (w *World) Now() time.Time { return w.clock.Now().UTC() }

// InterfaceID is the id of the task's elastic network interface: ECS shows it in
// the task's attachment, EC2 in DescribeNetworkInterfaces.
func (t *Task) InterfaceID() string {
	id := t.ID + "0000000000000000"
	return "eni-0" + id[:16]
}
