// Package journal stores the state of deployments in one SQLite file that survives a kill at any
// moment. It keeps deployments with their plan, saved values, stages, actions, commands, ordered
// events and leases.
//
// When a call that changes a row returns nil, the change is synced to disk (write-ahead log,
// synchronous=FULL). Several processes may open one file. In simulation the journal is ":memory:",
// private to its handle, and its calls wait for no other process.
//
// A call checks its context when it starts. A started call runs to its end, so an error never
// leaves open whether the row was written.
//
// The journal makes no decisions and does not call AWS. It masks what looks like a secret in
// events, results, causes and next steps. It does not mask saved values: their caller must make
// sure that they contain no secret.
//
// Start reading at [Open], then [Deployment] and [Journal.Save].
package journal
