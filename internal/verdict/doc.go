// Package verdict judges observations over time: whether a task set becomes healthy, is healthy or
// has failed, and why. It also decides when to poll next, so tests can check the poll rate.
//
// [Capacity] judges one task set. [ServiceFollower] judges a deployment of a service until it ends:
// succeeded, rolled back, superseded and so on, and why. [ServiceFollower.Needs] lists what to read
// besides the service itself after a poll.
//
// The package does no I/O. A judge is a value: [Capacity.See] takes an observation and returns the
// judge for the next one. Times are compared only with times of the same clock. The package never
// compares AWS's times with the times of this process.
//
// Start reading at [Capacity.See], or at [ServiceFollower.See] and its outcomeNow.
package verdict
