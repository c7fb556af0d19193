//go:build windows

package cli

import (
	"os"

	"golang.org/x/sys/windows"
)

// stillActive is the exit code of a process that has not ended (Windows,
// GetExitCodeProcess).
const stillActive = 259

// alive reports whether a process of this machine runs. One that may not be
// looked at does.
func alive(pid int) bool {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return err == windows.ERROR_ACCESS_DENIED
	}
	defer windows.CloseHandle(h)
	var code uint32
	return windows.GetExitCodeProcess(h, &code) != nil || code == stillActive
}

// obeys reports whether the terminal understands colours and cursor moves, and
// asks older consoles to.
func obeys(f *os.File) bool {
	h := windows.Handle(f.Fd())
	var mode uint32
	if windows.GetConsoleMode(h, &mode) != nil {
		return false
	}
	return windows.SetConsoleMode(h, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
