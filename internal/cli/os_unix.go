//go:build !windows

package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"syscall"
)

// alive reports whether a process of this machine runs. One that belongs to
// somebody else does; one that is dead and that nobody has collected does not.
func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return (err == nil || errors.Is(err, syscall.EPERM)) && !defunct(pid)
}

// defunct reads the state that Linux tells after the name in parentheses;
// elsewhere there is no such file.
func defunct(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	i := bytes.LastIndexByte(stat, ')')
	return err == nil && i >= 0 && i+2 < len(stat) && (stat[i+2] == 'Z' || stat[i+2] == 'X')
}

// obeys reports whether the terminal understands colours and cursor moves.
func obeys(*os.File) bool { return os.Getenv("TERM") != "dumb" }
