// Package world is the one state of a simulated AWS: the kernel (time, event
// heap, steps, log, checks) and the facts that several laws share (services,
// task sets, tasks, target groups, targets, rules), with their verbs.
//
// The world is passive. It does nothing until somebody calls [World.Do] or
// [World.Advance]; each call first runs every event that fell due, in
// (time, sequence) order. It reads no other clock than the one it was given,
// does no I/O and starts no goroutine. A law that needs something done outside
// (start a process, probe a target) emits an [Effect]; the answer comes back as
// a later call with its own time.
//
// Laws (scheduler, balancer, …) live in packages of their own and meet only
// through the facts here: a law changes a fact and calls [Tx.Changed]; laws
// that watch it are told before the step ends. Rooms (one AWS API each) check
// input, call a law or a verb, and shape output.
//
// Nothing here depends on map order: facts are kept in [Ordered] tables and
// random draws are keyed ([Tx.Draw]), so that one seed and one order of inputs
// give one log, byte for byte.
//
// Start reading at [World], then [Tx], then the facts in compute.go and traffic.go.
package world
