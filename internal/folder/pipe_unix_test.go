//go:build unix

package folder

import (
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Each of these would block, or give bytes for ever.
func TestOnlyRegularFilesAreRead(t *testing.T) {
	dir, files := lay(t)
	must(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	link(t, "pipe", filepath.Join(dir, "to-pipe"))
	for _, name := range []string{"pipe", "to-pipe"} {
		if _, err := fs.ReadFile(files, name); err == nil || !strings.Contains(err.Error(), "a named pipe") {
			t.Errorf("%s: %v", name, err)
		}
	}
	devices := New("/dev")
	for _, name := range []string{"zero", "null"} {
		if _, err := fs.ReadFile(devices, name); err == nil || !strings.Contains(err.Error(), "a device") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := fs.ReadFile(New(filepath.Join(dir, "pipe")), "a.yaml"); err == nil ||
		!strings.Contains(err.Error(), "not a folder") {
		t.Error(err)
	}
}
