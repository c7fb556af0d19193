package journal_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/journal"
)

func TestSavedBytesSurviveReopening(t *testing.T) {
	path := tempFile(t)
	values := map[string][]byte{"empty": {}, "nil": nil, "bytes": {0, 1, 0xff, '\''},
		"big": bytes.Repeat([]byte("x"), 1<<20)}
	j := open(t, path, newTicking())
	created(t, j, "d1")
	for key, v := range values {
		must(t, j.Save(bg, "d1", key, []byte("older")))
		must(t, j.Save(bg, "d1", key, v))
	}
	must(t, j.Close())

	j = open(t, path, newTicking())
	for key, want := range values {
		got, ok, err := j.Load(bg, "d1", key)
		if err != nil || !ok || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, there: %v, error: %v", key, len(got), ok, err)
		}
	}
	if _, ok, err := j.Load(bg, "d1", "never saved"); ok || err != nil {
		t.Errorf("never saved: there: %v, error: %v", ok, err)
	}
}

// What is durable is in the files when the call returns, not when the handle is
// closed: a copy taken then is what a kill would leave.
func TestSavedBytesSurviveAKill(t *testing.T) {
	path, copied := tempFile(t), tempFile(t)
	j := open(t, path, newTicking())
	created(t, j, "d1")
	must(t, j.Save(bg, "d1", "k", []byte("v")))
	must(t, os.MkdirAll(filepath.Dir(copied), 0o700))
	for _, suffix := range []string{"", "-wal"} {
		b, err := os.ReadFile(path + suffix)
		must(t, err)
		must(t, os.WriteFile(copied+suffix, b, 0o600))
	}
	if got, ok, err := open(t, copied, newTicking()).Load(bg, "d1", "k"); !ok || err != nil || string(got) != "v" {
		t.Errorf("%q, there: %v, error: %v", got, ok, err)
	}
}

func TestFilesAreTheirOwnersAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no mode bits")
	}
	path := tempFile(t)
	created(t, open(t, path, newTicking()), "d1")
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + suffix)
		must(t, err)
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", filepath.Base(info.Name()), info.Mode().Perm())
		}
	}
}

func TestFileIsSyncedWriteAhead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	open(t, path, newTicking())
	db := raw(t, path)
	var mode string
	must(t, db.QueryRow(`PRAGMA journal_mode`).Scan(&mode))
	if mode != "wal" {
		t.Errorf("journal_mode is %s", mode)
	}
}

// raw opens a file, whose path is plain, past the journal.
func raw(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// The next schema is refused by the name of the sluice that wrote it, so that a reader knows which one to install.
func TestNewerSchemaIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	must(t, open(t, path, newTicking()).Close())
	db, newer := raw(t, path), journal.Schema+1
	_, err := db.Exec(fmt.Sprintf(`PRAGMA user_version = %d`, newer))
	must(t, err)
	refused(t, path, fmt.Sprintf("a newer sluice wrote the journal (schema %d; this sluice, (devel), supports up to %d)",
		newer, journal.Schema), "--state FILE")
	_, err = db.Exec(`INSERT INTO writers (schema, version) VALUES (?, 'v9.1.0')`, newer)
	must(t, err)
	refused(t, path, fmt.Sprintf("sluice v9.1.0 wrote the journal (schema %d; this sluice, (devel), supports up to %d)",
		newer, journal.Schema), "install sluice v9.1.0 or later, or name another journal with --state FILE")
	_, err = db.Exec(`DROP TABLE writers`)
	must(t, err)
	refused(t, path, "a newer sluice wrote the journal", "--state FILE")
}

// A journal of every earlier schema is upgraded: its deployments are read, and new ones written.
func TestEarlierSchemasAreRead(t *testing.T) {
	for schema := 1; schema < journal.Schema; schema++ {
		path := filepath.Join(t.TempDir(), "journal.db")
		db := raw(t, path)
		for n := range schema {
			_, err := db.Exec(journal.Migration(n))
			must(t, err)
		}
		for _, statement := range []string{
			fmt.Sprintf("PRAGMA application_id = 0x534c4345; PRAGMA user_version = %d", schema),
			`INSERT INTO deployments (id, application, account, region, cluster, service, cause_of, state, outcome, cause,
				next, plan, began, updated, ended) VALUES ('old', 'web', '123456789012', 'eu-west-1', 'prod', 'web', 'manual',
				'paused', '', '', '', x'7b7d', 1, 1, 0)`} {
			_, err := db.Exec(statement)
			must(t, err)
		}
		must(t, db.Close())
		j := open(t, path, newTicking())
		created(t, j, "new")
		for _, id := range []string{"old", "new"} {
			if _, err := j.Deployment(bg, id); err != nil {
				t.Errorf("schema %d: %v", schema, err)
			}
		}
		var writer string
		must(t, raw(t, path).QueryRow(`SELECT version FROM writers WHERE schema = ?`, journal.Schema).Scan(&writer))
		equal(t, writer, "(devel)")
	}
}

func TestForeignFilesAreRefusedUntouched(t *testing.T) {
	foreign := filepath.Join(t.TempDir(), "other.db")
	_, err := raw(t, foreign).Exec(`CREATE TABLE mine (x)`)
	must(t, err)
	before, err := os.ReadFile(foreign)
	must(t, err)
	const next = "give --state the file of a journal, or of one that does not exist yet"
	refused(t, foreign, "the file is a SQLite database, but not a journal of sluice", next)
	after, err := os.ReadFile(foreign)
	must(t, err)
	if !bytes.Equal(before, after) {
		t.Error("the file was changed")
	}

	text := filepath.Join(t.TempDir(), "notes.txt")
	must(t, os.WriteFile(text, []byte(strings.Repeat("no database at all\n", 100)), 0o600))
	refused(t, text, "the file is not a journal of sluice", next)
	must(t, os.WriteFile(text, []byte("short\n"), 0o600))
	refused(t, text, "the file is not a journal of sluice", next)
	refused(t, "", "the journal has no file name", "")
	refused(t, t.TempDir(), "", "")
}

func refused(t *testing.T, path, why, next string) {
	t.Helper()
	j, err := journal.Open(path, newTicking())
	if err == nil {
		_ = j.Close()
		t.Fatalf("%s was opened", path)
	}
	if !strings.Contains(err.Error(), why) || !strings.Contains(sluice.NextStep(err), next) {
		t.Errorf("%v\nnext: %s", err, sluice.NextStep(err))
	}
}

// A full disk must be told, and must leave what was there.
func TestAnImpossiblePathIsReported(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	_, err := journal.Open(filepath.Join(file, "journal.sqlite"), newTicking())
	if next := sluice.NextStep(err); !strings.Contains(next, "--state FILE") {
		t.Errorf("%v, next: %q", err, next)
	}
}

func TestFullDiskIsReported(t *testing.T) {
	for _, path := range []string{journal.Memory, tempFile(t)} {
		j := open(t, path, newTicking())
		created(t, j, "d1")
		must(t, j.Save(bg, "d1", "small", []byte("v")))
		must(t, j.LimitPages(bg, 60))
		err := j.Save(bg, "d1", "big", make([]byte, 1<<20))
		if err == nil || !strings.Contains(err.Error(), "save big (d1): ") ||
			!strings.Contains(sluice.NextStep(err), "free space") {
			t.Errorf("%s: %v", path, err)
		}
		if _, ok, err := j.Load(bg, "d1", "big"); ok || err != nil {
			t.Errorf("%s: half of it is there: %v, %v", path, ok, err)
		}
		if v, _, err := j.Load(bg, "d1", "small"); err != nil || string(v) != "v" {
			t.Errorf("%s: what was there before: %q, %v", path, v, err)
		}
		must(t, j.Save(bg, "d1", "small", []byte("w")))
	}
}

func TestAnEndedContextStopsBeforeTheWrite(t *testing.T) {
	j := inMemory(t)
	created(t, j, "d1")
	ctx, cancel := context.WithCancelCause(bg)
	why := errors.New("paused")
	cancel(why)
	if err := j.Save(ctx, "d1", "k", []byte("v")); !errors.Is(err, why) {
		t.Errorf("Save: %v", err)
	}
	if _, _, err := j.Load(ctx, "d1", "k"); !errors.Is(err, why) {
		t.Errorf("Load: %v", err)
	}
	if _, ok, err := j.Load(bg, "d1", "k"); ok || err != nil {
		t.Errorf("it was written: %v, %v", ok, err)
	}
}

func TestMemoryJournalsArePrivate(t *testing.T) {
	const journals = 500
	all := make([]*journal.Journal, journals)
	for i := range all {
		all[i] = open(t, journal.Memory, newTicking())
		created(t, all[i], fmt.Sprint("d", i))
	}
	for i, j := range all {
		list, err := j.Deployments(bg, journal.Filter{})
		if err != nil || len(list) != 1 || list[0].ID != fmt.Sprint("d", i) {
			t.Fatalf("journal %d has %v, %v", i, list, err)
		}
	}
}

// In simulation the calls are made by actors of a virtual clock, one at a time.
func TestWorksUnderAVirtualClock(t *testing.T) {
	v := clock.NewVirtual(epoch)
	j := open(t, journal.Memory, v)
	v.Run(func() {
		created(t, j, "d1")
		var fs []func()
		for range 20 {
			fs = append(fs, func() {
				ctx, cancel := v.WithTimeout(bg, clock.Forever)
				defer cancel()
				for range 5 {
					_, err := j.AppendEvent(ctx, sluice.Seal("d1", "", sluice.Noted{}))
					must(t, err)
					must(t, v.Sleep(ctx, 1))
				}
			})
		}
		clock.All(v, fs...)
	})
	events, err := j.Events(bg, "d1", 0, 0)
	must(t, err)
	if len(events) != 100 || !events[99].At.Equal(epoch.Add(4)) {
		t.Errorf("%d events, the last at %v", len(events), events[len(events)-1].At)
	}
}
