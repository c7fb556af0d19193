// Package watch looks at services until a verdict ends: look, verdict, look
// again, for one service or a thousand.
//
// Subscribers share batched reads: one DescribeServices answers ten of them,
// whoever is due and whoever is due next. Everything else about a service is
// read only when the look at it shows a change, as [verdict.Rollout.Needs] says.
// All reads pass the account's gate.
//
// The package decides nothing about deployments; that is package verdict. It
// writes nothing.
//
// Start reading at [Watch.Wait].
package watch
