// Package health judges whether the tasks of one variant are healthy: [Capacity] while they start,
// [Bake] while they run.
//
// A judge is a value: [Capacity.See] takes an observation and returns the judge for the next one. The
// package does no I/O. It counts failures and explains them with package diagnosis, as the judges of
// package verdict do for whole deployments.
//
// Start reading at [Capacity.See].
package health
