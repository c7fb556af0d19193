// Package balancer is what Elastic Load Balancing does by itself over time:
// targets that are registered, checked, healthy, unhealthy and drained, rules
// that reach the nodes a moment after they were written, and the routing of one
// request.
//
// The routing lives in [Table], an immutable snapshot of one load balancer. Its
// [Table.Decide] is the only routing code of the simulator: sockets and modelled
// callers use the same. [Law] publishes a new table at each change; readers load
// it without any lock.
//
// Health checks of modelled images cost nothing while nothing changes: the law
// works out at which check the next change of state will be and waits for that
// one only. Images that are not modelled are probed through
// [world.ProbeTarget] and [Law.Probed].
//
// The package knows no API: shapes, limits and refusals are the room's
// (awssim/elbv2). It carries no request either; that is the data plane's.
//
// Start reading at [Table.Decide], then at [Law].
package balancer
