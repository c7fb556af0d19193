//go:build !race

package rehearse

// lighter is 1: everything is simulated.
const lighter = 1
