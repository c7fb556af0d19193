package world

import "time"

// Strict reports whether the world panics where a listening one logs.
func (w *World) Strict() bool { return w.strict }

// Now is the clock's now, in UTC. It runs nothing that fell due.
func (w *World) Now() time.Time { return w.clock.Now().UTC() }
