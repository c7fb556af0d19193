// Package replica describes the AWS around one service, so that a local AWS can be like it:
// [FromFiles] takes it from an application's files, [Read] from a running service, with read calls
// only. [World] is the result, as a world file of the local AWS, with the service in AWS's own
// shape.
//
// Package internal/rehearse/shape describes a service by the numbers that a rehearsal varies. This
// package copies the service as it is.
//
// Start reading at [World].
package replica
