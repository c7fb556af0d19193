// Package stage holds the stages: one file each, reading like a checklist that
// someone could follow by hand. Every stage looks, acts and looks again, and is
// safe to run twice: what it made carries the ID of its action and is found.
//
// A stage relies on three things only: the plan, what was saved through its
// [Host], and what AWS answers. Before the first write of a deployment it saves
// what AWS will not tell afterwards ([Former]) and claims the service.
//
// The order in which traffic and capacity move never changes: capacity up,
// healthy, weight up, read back … weight down, drain, capacity down, delete.
//
// The package does not decide what runs next (package plan does) and keeps no
// journal (the host does). Start reading at [Run.Execute], then canaryrollout.go.
package stage
