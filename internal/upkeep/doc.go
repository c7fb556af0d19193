// Package upkeep makes the calls to Amazon ECS of commands that do not deploy: it finds what uses a task definition,
// deletes task definitions and services, and stops tasks. It is apart from package ecs, so that front ends that only
// deploy need no permission for these calls.
//
// Start reading at [Family].
package upkeep
