// Package ecs reads and writes Amazon ECS: services, task sets, task definitions and tasks. A
// method that ensures a state reads first and writes only the difference. A method that wrote
// returns the state that AWS reports in its response.
//
// Writes go through the [sluice.Act] of the caller, which knows the plan. A created resource
// carries the ID of its action (externalId of the task set, client token). A second run finds the
// resource by this ID and does not create another one.
//
// [TaskSets] hosts the variants as task sets of one service with deployment controller EXTERNAL,
// [CanaryService] hosts the canary as its own service. The package does not wait and does not judge
// health; package stage does.
//
// Start reading at [Service] and [TaskSets].
package ecs
