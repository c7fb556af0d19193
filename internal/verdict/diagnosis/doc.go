// Package diagnosis finds why tasks do not become healthy. Every way of deploying, `sluice wait` and
// `sluice status` use it, so one failure has the same cause, threshold and advice everywhere.
//
// A cause comes from a stopped task ([ExplainStop]), a task that ran to its end ([ExplainRun]), a
// target ([ExplainTarget]), the service's events ([ExplainEvents]) or an error code of CodeDeploy
// ([KindOfCode]). [Failures] counts causes, says when they are enough to end a wait, and lists the
// tasks whose last log lines explain them.
//
// The package does no I/O and judges no deployment: package verdict does. A reason that AWS publishes
// is one row of [reasons], with its remedy, and one line of testdata/published.txt. A new kind of
// cause is a constant and one row of the table in table.go.
//
// Start reading at the reasons, then at [Failures].
package diagnosis
