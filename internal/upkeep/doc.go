// Package upkeep makes the calls of commands that do not deploy: it finds what uses a task definition, deletes task
// definitions and services, stops tasks, reads what definitions name, and writes test lines to log groups. It is apart from package ecs, so that front ends that only deploy need no permission for these calls.
//
// Start reading at [Family].
package upkeep
