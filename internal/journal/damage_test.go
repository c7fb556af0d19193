package journal_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/sluice-ecs/sluice/internal/journal"
)

// killed returns a copy of a journal with 30 deployments and one more in its log, as a kill leaves it.
func killed(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from.db"), filepath.Join(dir, "journal.db")
	j := open(t, from, newTicking())
	for i := range 30 {
		created(t, j, fmt.Sprint("d", i))
	}
	_, err := raw(t, from).Exec(`PRAGMA wal_checkpoint(TRUNCATE)`)
	must(t, err)
	created(t, j, "in the log")
	copyFile(t, from, to)
	copyFile(t, from+"-wal", to+"-wal")
	return to
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	must(t, err)
	must(t, os.WriteFile(to, data, 0o600))
}

// SQLite reads a file without its end, and the log of another file, as if it had never had any deployment.
func TestDamageIsNoticedAndNothingChanged(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(t *testing.T, path string)
		why    string
	}{
		"missing, with a log": {func(t *testing.T, path string) { must(t, os.Remove(path)) }, "the file is missing or empty"},
		"empty, with a log":   {func(t *testing.T, path string) { must(t, os.Truncate(path, 0)) }, "the file is missing or empty"},
		"one page, with a log": {func(t *testing.T, path string) { must(t, os.Truncate(path, 4096)) },
			"is missing"},
		"half of it, with a log": {func(t *testing.T, path string) { must(t, os.Truncate(path, 40960)) },
			"is missing"},
		"half of it, without a log": {func(t *testing.T, path string) {
			must(t, errors.Join(os.Remove(path+"-wal"), os.Truncate(path, 40960)))
		}, "malformed"},
		"the log of another journal": {func(t *testing.T, path string) {
			other := tempFile(t)
			created(t, open(t, other, newTicking()), "of another journal")
			copyFile(t, other+"-wal", path+"-wal")
		}, "is that of another file"},
		"no schema version": {func(t *testing.T, path string) {
			_, err := raw(t, path).Exec(`PRAGMA user_version = 0`)
			must(t, err)
		}, "it has tables, and its header has no schema version"},
	} {
		t.Run(name, func(t *testing.T) {
			path := killed(t)
			c.damage(t, path)
			before := filesOf(path)
			_, err := journal.Open(path, newTicking())
			if !errors.Is(err, journal.ErrUnusable) {
				t.Errorf("%v", err)
			}
			refused(t, path, c.why, "move "+path+" and "+path+"-wal away")
			if !bytes.Equal(filesOf(path), before) {
				t.Error("the files were changed")
			}
		})
	}
}

func filesOf(path string) []byte {
	file, _ := os.ReadFile(path)
	log, _ := os.ReadFile(path + "-wal")
	return append(append(file, "|"...), log...)
}

// A kill leaves a log, which is no damage. An empty file, such as that of mktemp, is a new journal.
func TestWholeFilesAreNoDamage(t *testing.T) {
	j := open(t, killed(t), newTicking())
	if list, err := j.Deployments(bg, journal.Filter{}); err != nil || len(list) != 31 {
		t.Errorf("%d deployments, %v", len(list), err)
	}
	empty := filepath.Join(t.TempDir(), "journal.db")
	must(t, os.WriteFile(empty, nil, 0o600))
	created(t, open(t, empty, newTicking()), "d1")
}
