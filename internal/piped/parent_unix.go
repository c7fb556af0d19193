//go:build unix

package piped

import (
	"os"
	"time"
)

// lookAtParent is how often it is looked whether piped still runs.
const lookAtParent = 100 * time.Millisecond

// awaitOrphaned returns when the process that started this one is gone: the
// system gives its children another parent then. It gives no signal.
func awaitOrphaned() {
	parent := os.Getppid()
	for os.Getppid() == parent {
		time.Sleep(lookAtParent)
	}
}
