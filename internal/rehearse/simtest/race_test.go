//go:build race

package simtest

// lighter is how many times less is simulated under the race detector, which
// makes virtual time ten times slower.
const lighter = 12
