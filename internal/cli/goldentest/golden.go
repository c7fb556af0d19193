// Package goldentest compares texts of the command line with golden files, and with the generated
// parts of documentation pages. go test -update writes both anew.
//
// Start reading at [Check].
package goldentest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// IsUpdate reports whether the flag -update is given.
func IsUpdate() bool { return *update }

// Check compares got with testdata/name.
func Check(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.ReplaceAll(string(want), "\r\n", "\n"); got != want {
		t.Errorf("%s is not as in %s:\n%s\nwant:\n%s", t.Name(), path, got, want)
	}
}
