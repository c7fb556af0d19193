package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Every command has a man page, and two builds of a commit write the same pages.
func TestEveryCommandHasAManPage(t *testing.T) {
	first, second := t.TempDir(), filepath.Join(t.TempDir(), "new", "folder")
	for _, dir := range []string{first, second} {
		if err := writeManPages(reference(), dir); err != nil {
			t.Fatal(err)
		}
	}
	var check func(all []*cobra.Command)
	check = func(all []*cobra.Command) {
		for _, c := range all {
			if !c.IsAvailableCommand() {
				continue
			}
			name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
			page, err := os.ReadFile(filepath.Join(first, name))
			if err != nil || !bytes.Contains(page, []byte("\n.SH NAME\n")) {
				t.Errorf("%s: %v\n%s", c.CommandPath(), err, page)
			}
			again, err := os.ReadFile(filepath.Join(second, name))
			if err != nil || !bytes.Equal(page, again) {
				t.Errorf("%s differs from the first time: %v", name, err)
			}
			check(c.Commands())
		}
	}
	check(reference().Commands())
}

func TestManNeedsAFolder(t *testing.T) {
	c := reference()
	c.SetArgs([]string{"man"})
	if err := c.Execute(); err == nil || !strings.Contains(err.Error(), "it needs the folder to write to") {
		t.Errorf("got %v", err)
	}
}
