// Package simtest generates deployments from seeds and runs them as rehearsals, for tests only. A
// user's own service is rehearsed by package rehearse, without this package.
//
// A generated [rehearse.Case] has a text form: [Parse] reads it, [Format] prints it, [Generate]
// generates one, [Shrink] makes one smaller. [Run] runs it with what only tests need: a standalone
// task, leftovers of earlier deployments, further acts of people, a trace. [SimEnv] serves its world
// to a sluice that runs in a process of its own.
//
// # How to add a new way of deploying
//
// Every part is a row of a table; only rows of these tables are simulated.
//
//   - Its simulated resources: a field of [shape.World], its line in [shape.World.File], and a trait
//     in traits.go, which is its word in a case's text.
//   - Its application files: a part in appfiles.go, which reads the case and writes its lines of
//     the application file or of a definition.
//   - Its flows, with the rollback from each stage: rows of [Flows]. A test kills them before and
//     after every write and every row of the journal.
//   - Its share of the seeds: a row of allKinds, which generates its pipelines. A property that any
//     kind can have (a fault, a trait, an intervention) is a row of allFeatures.
//   - Interventions of people and other tools: a row of acts in acts.go, its word in case.go of
//     package rehearse, and a row of interventionKinds. Acts of the catalogue are in acts.go of
//     package rehearse.
//   - Its checks: in the file of their promise in package rehearse. expectations.go has the checks
//     that only hold for generated cases.
//   - Its rules that must not break: a row of mutantsOf in mutant_test.go, with its kinds. The
//     simulation must detect each broken rule within a thousand seeds.
//   - A deployment without a service: job.go, its generator and flows in job_generate.go, its checks
//     in check_job.go.
//   - For users: a scenario of [catalogue.Scenarios] if something new can happen to it, and its shape
//     in [shape.FromFiles] and [shape.FromLive].
//
// Start reading at [Generate], then [Run] in simulation.go.
package simtest
