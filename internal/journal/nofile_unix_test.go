//go:build unix

package journal_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// SQLite waits for a pipe, or calls it a failed disk.
func TestPathsThatLeadToNoFileAreNamed(t *testing.T) {
	dir := t.TempDir()
	pipe, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "link")
	must(t, syscall.Mkfifo(pipe, 0o600))
	must(t, os.Symlink(os.DevNull, link))
	for path, kind := range map[string]string{pipe: "a named pipe", link: "a device", dir: "a folder"} {
		refused(t, path, "the path leads to "+kind+", not to a file", "name another journal with --state FILE")
	}
}
