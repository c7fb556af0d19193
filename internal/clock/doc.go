// Package clock is the source of time: one interface and its implementations.
//
// [Real] is the machine's time, for production. [Scaled] runs a fixed number of times faster, for
// the demo and for `sluice sim --speed`. [Following] does too, and another clock sets it
// continuously. [Virtual] is a cooperative scheduler for rehearsal and simulation. Exactly one
// actor runs at any moment; the others are parked in Sleep. When all are parked, time jumps to the
// next entry that is due. Running code takes no virtual time.
//
// The same program on the same Virtual clock does the same things in the same order, every time.
// Free goroutines over one shared virtual time would not. Therefore concurrency is a method of the
// clock, and the rest of sluice has no `go` statement and no timer of its own.
//
// This package does not make code that waits elsewhere fit for virtual time. If an actor blocks on
// a channel, a mutex or a socket which only another actor can release, it blocks the whole Virtual
// clock. Wait with Sleep, or with [All].
//
// Start reading at [Clock], then [Virtual.Run].
package clock
