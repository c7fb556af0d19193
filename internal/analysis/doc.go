// Package analysis judges metrics. A gate sees looks at the metrics of a canary, and says whether the
// canary is good, bad, or not decided yet.
//
// The package is arithmetic only. It reads no metrics, has no clock and does not decide when to look.
// The caller gives each look to Gate.See, saves the State that it returns, and asks Gate.Judge for the
// judgement. Two gates with the same State judge the same. docs/statistics.md explains the statistics.
//
// Start reading at gate.go, then evidence.go, which has the formulas of SEQUENTIAL.
package analysis
