// Package fault is what goes wrong on purpose, one line of text each: calls that
// are throttled, lost or slow, and a world in which tasks crash, start slowly or
// find no place.
//
// A line is parsed by [Parse] and printed back by [Fault.String]. A [Set] holds
// the faults of one world: it says before every call what goes wrong with it, and it
// writes [world.Troubles], which laws read. It knows no API and no protocol.
//
// Chance is keyed: the n-th call that a fault looks at is struck or not by the
// seed, the fault's line and n alone.
package fault
