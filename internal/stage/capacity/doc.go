// Package capacity waits until the tasks of a member are healthy, and removes members whose requests
// have ended. Start reading at [AwaitHealthy], then [Retire].
package capacity
