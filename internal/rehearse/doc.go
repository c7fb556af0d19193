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
// # How a new way of deploying joins
//
// Everything is a row of a table; what is not in these tables is not rehearsed.
//
//   - What the world has for it: a field of [World], its line in [World.File], and
//     a trait in traits.go, which is its word in a case's text.
//   - What the files say: a part in appfiles.go, which looks at the case and writes
//     its lines of the application file or of a definition.
//   - Its courses, with the rollback from each stage: rows of [Flows]. They are
//     killed before and after every write and every row of the journal.
//   - Its share of the seeds: a row of kinds, with the draws of its pipelines. What
//     any kind can have beside (a fault, a trait, a hand) is a row of features.
//   - What people and other tools may do to it meanwhile: a row of acts, its word
//     in case.go, and a row of drawnHands.
//   - What must hold: the checkers, one file for each promise. losses.go P1,
//     ending.go P2, leaks.go P3, weights.go P4, process.go and kill_test.go P5,
//     naming.go P6, planned.go P7. A check that looks at each change of the world
//     is called by step, one that looks at the end by judge, both in check.go. What
//     a case makes impossible to promise stands in expect.go, as narrow as can be.
//   - Rules of it that must not break: a row of mutantsOf in mutant_test.go, with
//     its kinds, each of which the simulation must notice within a thousand seeds.
//   - What has no service at all: job.go, its draws and courses in jobdraw.go, what must
//     hold of it in jobends.go.
//   - For users: a scenario of [Catalogue] if something new can happen to it, and
//     its shape in [FromFiles] and [FromLive].
//
// Start reading at [Case], then [Run], then check.go.
package rehearse
