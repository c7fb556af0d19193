package piped

import "os"

// awaitOrphaned returns when the process that started this one has ended.
func awaitOrphaned() {
	parent, err := os.FindProcess(os.Getppid())
	if err != nil {
		return
	}
	// On Windows any process can wait for another one.
	if _, err := parent.Wait(); err != nil {
		select {} // the parent cannot be watched; piped ends its plugins itself
	}
}
