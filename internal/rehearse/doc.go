// Package rehearse runs deployments where nothing can be harmed: a whole AWS in
// memory, laid in the shape of a real service or of one drawn by a seed, in
// virtual time, with modelled callers, faults, outside hands, and a sluice that is
// killed on the way. What came of it is held against the promises P1 to P7.
//
// A rehearsal is a [Case], which is text: read by [Parse], printed by
// [Case.String], drawn by [Draw], made smaller by [Shrink]. [Run] plays it; the
// same case gives the same log, byte for byte. [Catalogue] is the list of cases
// that a user's own pipeline is held against.
//
// The package decides nothing about deployments and knows no rule of AWS: the
// engine that runs here is the engine, the simulator knows nothing of it. It opens
// no socket and needs no credentials.
//
// Start reading at [Case], then [Run], then check.go.
package rehearse
