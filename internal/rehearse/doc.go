// Package rehearse runs deployments against a simulated AWS in memory, in virtual time. Callers,
// faults, external changes and kills of sluice are simulated too. The result is checked against the
// promises P1 to P8.
//
// A rehearsal is a [Case]. [Run] runs it; the same case gives the same log, byte for byte.
// Package catalogue lists the scenarios that a user's own pipeline is rehearsed with. Package shape
// reads the shape of the user's service. Package simtest generates cases for tests, and adds to a
// rehearsal with an [Extension]; its comment describes how to add a new way of deploying.
//
// The package makes no decisions about deployments and contains no rules of AWS. It runs the real
// engine, and the simulator is independent of it. It opens no socket and needs no credentials.
//
// A [Rehearsal] is made of parts. [Environment] is the simulated AWS, [Processes] runs sluice, [Acts]
// performs the interventions, [SecondSluices] runs other sluices, and callers has the modelled callers.
// [Report] records the log, the result and the broken promises.
//
// The checks are types, one for each thing that they observe: ruleChecks (weights and actions of rules:
// P1, P3, P4, P7), shareChecks and recordChecks (names: P3, P4), setChecks (task sets: P1, P3),
// TaskChecks (standalone tasks: P5), WriteChecks (P7), ScalingChecks (P3), causeChecks (P6), answerChecks (what
// callers get after the outcome: P8) and EndChecks (P2, P3). Each is in a file check_*.go, cloudmap_check_*.go or autoscaling.go; check_losses.go has what
// callers lose (P1). [Rehearsal.checkChange] in check.go calls the checks of each change of the world,
// [Rehearsal.onEvent] those of each event, [Rehearsal.judgeEnd] those of the end. exclusions.go lists,
// as narrowly as possible, the promises that a case cannot keep.
//
// Start reading at [Case], then [Run], then check.go.
package rehearse
