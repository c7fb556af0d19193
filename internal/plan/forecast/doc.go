// Package forecast estimates how long a deployment of a good version takes: the starts of tasks, the
// propagation of weights, drains and waits.
//
// It knows no mode: a mode says with which method of [Estimate] its primary is replaced. It takes
// values and returns values.
//
// Start reading at [New] and stageTime.
package forecast
