// Package memory is what the stages of a deployment save: one typed value per concern. A resumed
// deployment, and every later stage, reads it.
//
// Each value has a version and is one row of the host. Six values are plain text instead: five are
// PipeCD's, which other tools read, and one is written by the command that takes a service over.
// The package decides nothing and calls no AWS API.
//
// Earlier versions of sluice saved each part under a key of its own. [Concern.Find] reads those
// rows (earlier.go), and the next save writes the present form. To add a concern, write its type,
// a field of [Memory] and a line in [Open].
//
// Start reading at [Memory].
package memory
