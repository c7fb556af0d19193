//go:build !windows

package session

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"syscall"
)

// isProcessAlive reports whether a process of this machine runs. A process of another user counts
// as running. A zombie process does not.
func isProcessAlive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return (err == nil || errors.Is(err, syscall.EPERM)) && !isDefunct(pid)
}

// isDefunct reports whether a process is a zombie. It reads the state after the name in parentheses
// in /proc/<pid>/stat, which exists on Linux only.
func isDefunct(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	i := bytes.LastIndexByte(stat, ')')
	return err == nil && i >= 0 && i+2 < len(stat) && (stat[i+2] == 'Z' || stat[i+2] == 'X')
}

// supportsANSI reports whether the terminal supports colors and cursor moves.
func supportsANSI(*os.File) bool { return os.Getenv("TERM") != "dumb" }
