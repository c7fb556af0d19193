// Package loadbalancer simulates the behaviour of Elastic Load Balancing over time. It registers,
// checks and drains targets, delays changed rules on their way to the nodes, and routes each
// request.
//
// [Table] does the routing. It is an immutable snapshot of one load balancer. [Table.Decide] is the
// only routing code of the simulator; sockets and modelled callers both use it. [Controller]
// publishes a new table at each change. Readers load it without a lock.
//
// Health checks of modelled images cost no time while their result stays the same: the controller
// calculates which check changes the state next, and waits only for that check. Images that are not
// modelled are probed through [world.ProbeTarget] and [Controller.RecordProbe].
//
// The package has no API: awssim/elbv2 holds shapes, limits and refusals. It carries no requests:
// awssim/dataplane does.
//
// Start reading at [Table.Decide], then at [Controller].
package loadbalancer
