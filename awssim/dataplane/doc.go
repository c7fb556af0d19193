// Package dataplane gives the simulated AWS real sockets: load balancer listeners, their tasks,
// real health checks, programs of the host, and a name server for Cloud Map.
//
// It carries out the world's effects in order, on its own goroutine. Their results enter the world
// as later steps. It makes no decision about AWS: [balancer.Table.Decide] routes a request, read
// without a lock, and the scheduler starts, drains and stops a task.
//
// Addresses. On Linux every load balancer and every task has its own loopback address (127.x.y.z)
// and listens on its port there. That address may be impossible to bind: another system, a port
// below 1024 without the right to it, an address outside loopback, a second simulator on the
// machine. Then the socket is on 127.0.0.1 with a free port. The load balancer's DNS name shows it,
// and the data plane connects listeners to such tasks itself.
//
// Task sockets are opened at start while few are open, then at the first request from a load
// balancer. Beyond half of the process's file limit, requests reach a task without a socket. The
// package never connects to an address outside loopback.
//
// A listener of a Network Load Balancer copies the bytes of connections, see networklistener.go. Its
// nodes share one socket.
//
// It does not implement HTTP/2, TLS or UDP. It does not retry a request on another target, as load
// balancers do not.
//
// Start reading at [Plane], then listenersocket.go (listeners), process.go (tasks) and dns.go (names).
// [Caller] is a client that resolves tasks by name.
package dataplane
