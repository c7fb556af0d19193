//go:build unix

package parent

import (
	"os"
	"time"
)

// parentPollInterval is how often this process checks whether the parent still runs.
const parentPollInterval = 100 * time.Millisecond

// AwaitEnd returns when the process that started this one has ended. The system then gives
// this process another parent; it sends no signal.
func AwaitEnd() {
	parent := os.Getppid()
	for os.Getppid() == parent {
		time.Sleep(parentPollInterval)
	}
}
