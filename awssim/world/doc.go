// Package world is the state of the simulated AWS: clock, event queue, transactions, log and
// invariants. It also defines the resources that several controllers share: services, task sets,
// tasks, target groups, targets, rules.
//
// The world is passive. [World.Do] and [World.Advance] first run every due event, in (time,
// sequence) order. The world reads no clock but its own, does no I/O and starts no goroutine. A
// controller that needs work outside (start a process, probe a target) emits an [Effect]. The
// result comes back as a later call with its own time.
//
// Each controller (scheduler, balancer, …) is a package of its own. Controllers share only the
// resources defined here. A controller changes a resource and calls [Tx.Changed]; the watchers run
// before the transaction ends. The packages that each serve one AWS API validate input, call a
// controller and build output.
//
// Order never depends on a map: resources are kept in [Ordered] tables, and random numbers are
// keyed by purpose and object. One seed and one order of inputs therefore give one log, byte for
// byte.
//
// Start reading at [World], then [Tx], then the resources in ecs.go and elb.go.
package world
