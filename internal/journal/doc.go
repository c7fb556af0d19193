// Package journal is sluice's memory: what was asked for, what was begun, what
// was done, in one SQLite file that survives a kill at any moment. It keeps
// deployments with their plan, the values that stages saved, stages, actions,
// commands, events in order, and leases.
//
// A call that changes something has been synced to disk when it returns nil
// (write-ahead log, synchronous=FULL). Several processes may open one file. In
// simulation the journal is ":memory:", private to its handle, and every call
// returns without waiting for anything but itself.
//
// A context is looked at when a call starts; a call that has started is carried
// through, so that an error never leaves open whether it was written.
//
// The journal does not decide anything, knows no AWS, and does not hide what it
// is given: who saves a value sees to it that it holds no secret.
//
// Start reading at [Open], then [Deployment] and [Journal.Save].
package journal
