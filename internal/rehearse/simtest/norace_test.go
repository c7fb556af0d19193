//go:build !race

package simtest

// lighter is 1: everything is simulated.
const lighter = 1
