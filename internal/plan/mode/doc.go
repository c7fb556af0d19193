// Package mode makes plans: from an application and the state of AWS to a [plan.Plan].
//
// The package is pure, as package plan is.
//
// Start reading at [Make].
package mode
