// Package fault injects faults, one line of text each: API calls that are throttled, lost or slow,
// and tasks that crash, start slowly or cannot be placed.
//
// [Parse] reads a line and [Fault.String] prints it. A [Set] holds the faults of one world. It
// decides before every call which fault applies, and it writes [world.ActiveFaults], which the
// controllers read. The package has no API and no protocol.
//
// Chance is keyed: only the seed, the fault's line and n decide whether the n-th matching call gets
// the fault.
package fault
