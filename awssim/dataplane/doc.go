// Package dataplane is where the simulated AWS meets real sockets: load balancer
// listeners, the tasks behind them, real health checks, programs of the host, and
// the name server for Cloud Map's names.
//
// It carries out the world's effects, in their order, on one goroutine of its
// own; what comes of them enters the world as a later step. It decides nothing
// about AWS: where a request goes is [balancer.Table.Decide]'s answer, read
// without a lock; when a task starts, drains and dies is the scheduler's.
//
// Addresses. On Linux every load balancer and every task has a loopback address
// of its own (127.x.y.z) and really listens on its port there. Where that cannot
// be bound (another system, a port below 1024 without the right to it, an
// address outside loopback, a second simulator on the machine) the socket is on
// 127.0.0.1 with a free port instead; the load balancer's DNS name then says so,
// and the way from a listener to such a task is found by the data plane.
//
// Sockets of tasks are opened at start while few are open, then at the first
// request from a load balancer; beyond half of the process's file limit, requests
// reach a task without a socket. Nothing ever connects to an address outside
// loopback.
//
// It does not speak HTTP/2 or TLS, does not spread over several nodes, and does
// not retry a request on another target: Application Load Balancers do not.
//
// Start reading at [Plane], then front.go (listeners), process.go (tasks) and
// dns.go (names). [Caller] is a client that finds tasks by name.
package dataplane
