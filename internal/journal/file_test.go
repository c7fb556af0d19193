package journal_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/journal"
)

// Another process deletes the file, or puts another one in its place. SQLite would go
// on writing to the deleted file, and nothing of that would remain.
func TestDeletedFileIsNoticedAtTheNextSave(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows deletes no open file")
	}
	for name, change := range map[string]func(path string) error{
		"deleted": os.Remove,
		"replaced": func(path string) error {
			return errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "journal.db")
			j := open(t, path, newTicking())
			must(t, j.CreateDeployment(bg, journal.Deployment{ID: "d1", Plan: []byte("{}"), State: journal.Running}))
			must(t, change(path))
			err := j.Save(bg, "d1", "key", []byte("value"))
			if !errors.Is(err, journal.ErrUnusable) || !strings.Contains(err.Error(), "deleted or replaced") ||
				!strings.Contains(sluice.NextStep(err), path) {
				t.Errorf("%v; next: %s", err, sluice.NextStep(err))
			}
		})
	}
}

func TestFailedCommitIsAFailedSave(t *testing.T) {
	j := inMemory(t)
	must(t, j.CreateDeployment(bg, journal.Deployment{ID: "d1", Plan: []byte("{}"), State: journal.Running}))
	must(t, j.FailCommits(bg))
	if err := j.Save(bg, "d1", "key", []byte("value")); err == nil {
		t.Error("the save succeeded and its COMMIT did not")
	}
	if _, ok, _ := j.Load(bg, "d1", "key"); ok {
		t.Error("the value is there")
	}
}

// A lease that the same owner took anew has another fence: its old self must stop.
func TestOldFenceHoldsNothing(t *testing.T) {
	j := open(t, journal.Memory, &standing{now: epoch})
	old, err := j.Acquire(bg, "web", "d1", time.Minute)
	must(t, err)
	must(t, j.CheckLease(bg, "web", "d1", old))
	now, err := j.Acquire(bg, "web", "d1", time.Minute)
	must(t, err)
	must(t, j.CheckLease(bg, "web", "d1", now))
	if err := j.CheckLease(bg, "web", "d1", old); !errors.Is(err, journal.ErrLost) {
		t.Errorf("the old fence: %v", err)
	}
}
