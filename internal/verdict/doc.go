// Package verdict judges observations over time: is a task set getting healthy,
// is it healthy, or has it failed, and why. It also says when to look next, so
// that the rate of reading is a decision that can be tested.
//
// [Capacity] judges one task set; [Rollout] judges a deployment of a service to
// its end: succeeded, rolled back, superseded and so on, and why. [Rollout.Needs]
// says what a look makes worth reading besides the service itself.
//
// The package is pure. A judge is a value: [Capacity.See] takes an observation
// and returns the judge to use for the next one. Time is only compared with
// time of the same clock; AWS's own times are never compared with ours.
//
// Start reading at [Capacity.See], or [Rollout.See] and its fate.
package verdict
