// Package gates reads the gates of a stage while it waits, and judges the canary by them.
//
// Reads run beside the stage: no poll waits for one. What a gate has seen is saved after each read, so
// that a resumed deployment counts on. Package analysis has the statistics; packages of internal/metrics
// read. A gate that is bad is an error of the stage, as tasks that fail are.
//
// Start reading at [Watch.Poll].
package gates
