// Package catalogue lists the scenarios that `sluice rehearse` plays with a user's own pipeline, and
// judges their results: is the deployment safe, and what would make it safer.
//
// A new scenario is a row of one of the tables in scenarios.go. Package rehearse runs it.
//
// Start reading at [Scenarios] and [Scenario.RowOf].
package catalogue
