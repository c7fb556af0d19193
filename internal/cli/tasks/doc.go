// Package tasks has the commands on the running tasks of an application: tasks, logs and exec.
//
// Start reading at [Commands].
package tasks
