package scheduler

// ComputedCount returns computedDesiredCount: desired × percent / 100, rounded up, with a guard
// against the error of binary fractions (35 % of 20 is 7). percent is 0–100.
//
// Source: API Reference, Scale. The guard is an addition: AWS does not document its arithmetic.
func ComputedCount(desired int, percent float64) int {
	exact := float64(desired) * percent / 100
	n := int(exact)
	if exact-float64(n) > 1e-9 {
		n++
	}
	return n
}

// upperLimit returns the most tasks that maximumPercent allows, rounded down.
func upperLimit(desired, percent int) int { return desired * percent / 100 }

// lowerLimit returns the fewest tasks that minimumHealthyPercent requires, rounded up.
func lowerLimit(desired, percent int) int { return (desired*percent + 99) / 100 }
