// Package stage holds the stages of a deployment, one file each. A stage reads like a checklist
// that a person could follow. Every stage reads, writes and reads again. It is safe to run twice:
// what it creates carries its action ID, and a second run finds it.
//
// A stage uses three sources only: the plan, the values saved through its [Host] (package memory),
// and AWS's answers. Before the first write of a deployment it saves the state that AWS cannot
// return afterwards ([memory.Snapshot]), and it claims the service.
//
// The order of traffic and capacity never changes: capacity up, healthy, weight up, read back …
// weight down, drain, capacity down, delete.
//
// The package does not decide which stage runs next (package plan does) and keeps no journal (the
// host does). Start reading at [Run.Execute], then canaryrollout.go.
package stage
