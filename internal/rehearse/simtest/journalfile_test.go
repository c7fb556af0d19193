package simtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice/internal/rehearse"
)

// A test sees the journal that a killed process left, before the next process resumes from it.
func TestKilledProcessLeavesItsJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	c := flowCalled(t, "canary")
	c.Kills = []rehearse.Kill{{N: 3}}
	var left []string
	r := rehearse.RunExtended(withFiles(c), func(r *rehearse.Rehearsal) rehearse.Extension {
		x := newExtension(r, nil)
		x.JournalPath = path
		x.OnKilled = func(at string) {
			left = append(left, at)
			if info, err := os.Stat(path); err != nil || info.Size() == 0 {
				t.Errorf("%s: no journal: %v", at, err)
			}
		}
		return x
	}).Report.Result
	if len(left) != 1 || !strings.HasPrefix(left[0], "before ") || len(r.Violations) > 0 {
		t.Errorf("killed %q; %v", left, r.Violations)
	}
}
