// Package tasks has the commands on the running tasks of an application: tasks and logs.
//
// Start reading at [Commands].
package tasks
