// Package shape describes a service and the resources around it, as far as a rehearsal simulates
// them. [FromFiles] takes the shape from an application's files, [FromLive] from the running service.
// [World.File] writes it as a file of the simulated AWS. [Advice] returns what is unsafe or slow in
// it.
package shape
