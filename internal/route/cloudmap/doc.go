// Package cloudmap steers a name of AWS Cloud Map: which tasks of the two
// variants are found under it. Cloud Map knows no weights, so a share is made by
// counts ([plan.Pool]); the canary's tasks are registered under instance ids of
// our own, with the attributes that ECS gives; the primary's are ECS's, and are
// taken out, and put back as they were, only as far as a share demands it.
//
// What ECS does about an instance that somebody takes out is not documented. The
// [Driver] watches what it took out; one that comes back ends the shift with that
// reason.
//
// The package does not start or stop tasks, and does not wait for callers to
// forget an address: stages do.
//
// Start reading at [decide], then [Driver.Set].
package cloudmap
