//go:build !windows

package cli

import (
	"errors"
	"os"
	"syscall"
)

// alive reports whether a process of this machine runs. One that belongs to
// somebody else does.
func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// obeys reports whether the terminal understands colours and cursor moves.
func obeys(*os.File) bool { return os.Getenv("TERM") != "dumb" }
