package step

import (
	"time"
)

// MaxShiftTries is how often a shift is tried because tasks started or stopped during it.
const MaxShiftTries = 5

// MaxReassertions is how often a revision is requested again. Two actors that both insist would
// start tasks endlessly.
const MaxReassertions = 3

// CheckInterval is the time between two checks during a long wait: of commands by users, the claim
// and drift.
const CheckInterval = 2 * time.Second
