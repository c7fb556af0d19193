//go:build windows

package session

import (
	"os"

	"golang.org/x/sys/windows"
)

// stillActive is the exit code of a process that has not ended (Windows,
// GetExitCodeProcess).
const stillActive = 259

// isProcessAlive reports whether a process of this machine runs. A process that this user may not
// open counts as running.
func isProcessAlive(pid int) bool {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return err == windows.ERROR_ACCESS_DENIED
	}
	defer windows.CloseHandle(h)
	var code uint32
	return windows.GetExitCodeProcess(h, &code) != nil || code == stillActive
}

// supportsANSI reports whether the terminal supports colors and cursor moves. On older consoles it
// switches this support on.
func supportsANSI(f *os.File) bool {
	h := windows.Handle(f.Fd())
	var mode uint32
	if windows.GetConsoleMode(h, &mode) != nil {
		return false
	}
	return windows.SetConsoleMode(h, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
