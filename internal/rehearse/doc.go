// Package rehearse runs deployments against a simulated AWS in memory, in virtual time. The service
// has the shape of a real one or of one generated from a seed. Callers, faults, external changes
// and kills of sluice are simulated too. The result is checked against the promises P1 to P7.
//
// A rehearsal is a [Case], which has a text form: [Parse] reads it, [Case.String] prints it, [Generate]
// generates one, [Shrink] makes one smaller. [Run] runs it; the same case gives the same log, byte
// for byte. [Catalogue] lists the scenarios that a user's own pipeline is rehearsed with.
//
// The package makes no decisions about deployments and contains no rules of AWS. It runs the real
// engine, and the simulator is independent of it. It opens no socket and needs no credentials.
//
// # How to add a new way of deploying
//
// Every part is a row of a table; only rows of these tables are rehearsed.
//
//   - Its simulated resources: a field of [World], its line in [World.File], and a trait in
//     traits.go, which is its word in a case's text.
//   - Its application files: a part in appfiles.go, which reads the case and writes its lines of
//     the application file or of a definition.
//   - Its flows, with the rollback from each stage: rows of [Flows]. A test kills them before and
//     after every write and every row of the journal.
//   - Its share of the seeds: a row of allKinds, which generates its pipelines. A property that any
//     kind can have (a fault, a trait, an intervention) is a row of allFeatures.
//   - Interventions of people and other tools: a row of interventionActs, its word in case.go, and
//     a row of interventionKinds.
//
// - Its checks, one file for each promise: check_losses.go P1, check_ending.go P2, check_leaks.go P3,
// check_weights.go
//
//	  P4, process.go and kill_test.go P5, check_causes.go P6, check_planned.go P7. [Rehearsal.checkChange] in check.go
//	  calls the checks of each change of the world, [Rehearsal.judgeEnd] those of the end. exclusions.go
//	  lists, as narrowly as possible, the promises that a case cannot keep.
//	- Its rules that must not break: a row of mutantsOf in mutant_test.go, with its kinds. The
//	  simulation must detect each broken rule within a thousand seeds.
//	- A deployment without a service: job.go, its generator and flows in job_generate.go, its checks in
//	  check_job.go.
//	- For users: a scenario of [Catalogue] if something new can happen to it, and its shape in
//	  [FromFiles] and [FromLive].
//
// Start reading at [Case], then [Run], then check.go.
package rehearse
