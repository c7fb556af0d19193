// Package clock is where time comes from: one interface and three clocks.
//
// [Real] is the machine's time, for production. [Scaled] runs a fixed number of
// times faster, for the demo and for `sluice sim --speed`; [Following] does so too,
// and is set by another clock all along. [Virtual] is a
// cooperative scheduler for rehearsal and simulation: exactly one actor runs at
// any moment, the others are parked in Sleep, and when all are parked time jumps
// to the next thing that is due. Running code takes no virtual time.
//
// The same program on the same Virtual clock does the same things in the same
// order, every time. With free goroutines over one shared virtual time that does
// not hold, which is why concurrency is a method of the clock, and why the rest
// of sluice has no `go` statement and no timer of its own.
//
// This package will not make code that waits elsewhere fit for virtual time: an
// actor that blocks on a channel, a mutex or a socket which only another actor
// can release blocks the whole Virtual clock. Wait with Sleep, or with [All].
//
// Start reading at [Clock], then [Virtual.Run].
package clock
