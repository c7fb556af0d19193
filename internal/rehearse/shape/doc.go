// Package shape describes a service and the resources around it, as far as a rehearsal simulates
// them. [FromFiles] takes the shape from an application's files, [FromLive] from the running service.
// [World.File] writes it as a [File] of the local AWS, whose entries a copy of a service (package
// replica) has too. [Advice] returns what is unsafe or slow in it.
package shape
