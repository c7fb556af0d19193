package discovered_test

import (
	"cmp"
	"flag"
)

var runs = flag.Int("runs", 0, "how often each flow is tried; 0: as often as usual")

// tries is how often each flow is tried if that is usual.
func tries(usual int) int { return cmp.Or(*runs, usual) }
