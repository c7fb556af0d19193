package piped

import "os"

// awaitOrphaned returns when the process that started this one is gone.
func awaitOrphaned() {
	parent, err := os.FindProcess(os.Getppid())
	if err != nil {
		return
	}
	// On Windows a process can be waited for by anybody.
	if _, err := parent.Wait(); err != nil {
		select {} // it cannot be watched; piped ends its plugins itself
	}
}
