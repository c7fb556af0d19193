// Package verdict judges observations over time: whether a deployment has ended, how, and why. It
// also decides when to poll next, so tests can check the poll rate.
//
// [ServiceFollower] judges a deployment of a service until it ends: succeeded, rolled back,
// superseded and so on, and why. [ServiceFollower.Needs] lists what to read besides the service
// itself after a poll. [CodeDeployFollower] does the same for a deployment by CodeDeploy. Package
// health judges the tasks of one variant.
//
// The package does no I/O. A judge is a value: [ServiceFollower.See] takes an observation and returns
// the judge for the next one. Times are compared only with times of the same clock. The package never
// compares AWS's times with the times of this process.
//
// Start reading at [ServiceFollower.See] and its outcomeNow.
package verdict
