package parent

import "os"

// AwaitEnd returns when the process that started this one has ended.
func AwaitEnd() {
	parent, err := os.FindProcess(os.Getppid())
	if err != nil {
		return
	}
	// On Windows any process can wait for another one.
	if _, err := parent.Wait(); err != nil {
		select {} // the parent cannot be watched; it ends its plugins itself
	}
}
