package scheduler

// DesiredOf is computedDesiredCount: desired × percent / 100, rounded up, with a
// guard against the noise of binary fractions (35 % of 20 is 7). percent is
// 0–100.
//
// Source: API Reference, Scale; the guard is ours, AWS's arithmetic is not
// documented.
func DesiredOf(desired int, percent float64) int {
	exact := float64(desired) * percent / 100
	n := int(exact)
	if exact-float64(n) > 1e-9 {
		n++
	}
	return n
}

// ceiling is the most tasks that maximumPercent allows, rounded down.
func ceiling(desired, percent int) int { return desired * percent / 100 }

// floor is the fewest that minimumHealthyPercent asks for, rounded up.
func floor(desired, percent int) int { return (desired*percent + 99) / 100 }
