// Package filekind finds files that are not regular files. Reading a named pipe may wait without an end, and reading a device may
// give bytes without an end.
//
// It does not open files. Start reading at [Check].
package filekind

import (
	"fmt"
	"io/fs"
)

// Check returns an error if the file is no regular file.
func Check(info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	return fmt.Errorf("it is %s, and only regular files are read", Name(info.Mode()))
}

// Name returns the name of a kind of file, such as "a named pipe".
func Name(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return "a regular file"
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "not a regular file"
}
