//go:build unix

package piped

import (
	"os"
	"time"
)

// parentPollInterval is how often the plugin checks whether piped still runs.
const parentPollInterval = 100 * time.Millisecond

// awaitOrphaned returns when the process that started this one has ended. The system then gives
// this process another parent; it sends no signal.
func awaitOrphaned() {
	parent := os.Getppid()
	for os.Getppid() == parent {
		time.Sleep(parentPollInterval)
	}
}
