// Package ecs holds the verbs on Amazon ECS: observe a service and its task
// sets, ensure a revision, a service, a task set. A verb looks first and writes
// only what differs; a verb that wrote returns what AWS says is true now.
//
// Writes are made through the [sluice.Act] that the caller hands in, which knows
// the plan. What is created carries the ID of its action (the task set's
// externalId, the client token), so that a second run finds it instead of
// making another.
//
// [TaskSets] is the hosting of two variants as task sets of one service with
// deployment controller EXTERNAL. The package waits for nothing and decides
// nothing about health; stages do.
//
// Start reading at [Service] and [TaskSets].
package ecs
