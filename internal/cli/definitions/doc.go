// Package definitions has the commands on task and service definitions outside of a deployment: render,
// register, revisions and deregister.
//
// Start reading at [Commands].
package definitions
