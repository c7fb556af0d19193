// Package rehearse runs deployments against a simulated AWS in memory, in virtual time. Callers,
// faults, external changes and kills of sluice are simulated too. The result is checked against the
// promises P1 to P7.
//
// A rehearsal is a [Case]. [Run] runs it; the same case gives the same log, byte for byte.
// [Catalogue] lists the scenarios that a user's own pipeline is rehearsed with. Package shape reads
// the shape of the user's service. Package simtest generates cases for tests, and adds to a
// rehearsal with an [Extension]; its comment describes how to add a new way of deploying.
//
// The package makes no decisions about deployments and contains no rules of AWS. It runs the real
// engine, and the simulator is independent of it. It opens no socket and needs no credentials.
//
// The checks are one file for each promise: check_losses.go P1, check_ending.go P2, check_leaks.go
// P3, check_weights.go P4, process.go P5, check_causes.go P6, check_planned.go P7.
// [Rehearsal.checkChange] in check.go calls the checks of each change of the world,
// [Rehearsal.judgeEnd] those of the end. exclusions.go lists, as narrowly as possible, the promises
// that a case cannot keep.
//
// Start reading at [Case], then [Run], then check.go.
package rehearse
