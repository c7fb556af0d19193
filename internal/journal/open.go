package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/secret"
)

// Memory is the path of a journal that exists only as long as its handle.
const Memory = ":memory:"

// busyTimeout is how long a call waits while another process writes.
const busyTimeout = 10 * time.Second

// Journal is an open journal. Its methods may be called from several
// goroutines.
type Journal struct {
	path       string
	clock      clock.Clock
	writer     *sql.DB // has one connection
	reader     *sql.DB // in memory the same as writer
	statements statementCache
	wrapWrite  func(op string, write func() error) error
	file       os.FileInfo // the file that was opened; nil in memory
	known      *secret.Known
}

// HideKnown makes the journal mask values that are known to be secret, in events, results and causes, in addition to
// text that looks like a secret. Call it before the first write.
func (j *Journal) HideKnown(known *secret.Known) { j.known = known }

func (j *Journal) mask(text string) string { return secret.Mask(j.known.Mask(text)) }

// Open opens the journal at path. It creates the file (readable by its owner only) and migrates its
// schema where needed. All times come from c.
//
// Open does not change a file that is no journal, that a newer sluice wrote, or whose log remains without it; it returns
// an error. It returns an error too for a journal whose files were cut off or do not belong together.
func Open(path string, c clock.Clock) (*Journal, error) {
	j := &Journal{path: path, clock: c}
	if err := j.openDatabase(); err != nil {
		_ = j.Close()
		return nil, j.explainError(opOpen, path, err)
	}
	return j, nil
}

func (j *Journal) openDatabase() error {
	if j.path == "" {
		return errors.New("the journal has no file name")
	}
	source, err := j.prepareSource()
	if err != nil {
		return err
	}
	if j.writer, err = openPool(source, 1); err != nil {
		return err
	}
	j.reader = j.writer
	if err := j.migrateSchema(context.Background()); err != nil {
		return err
	}
	if j.path == Memory {
		return nil
	}
	if j.reader, err = openPool(source+"&_query_only=1", 4); err != nil {
		return err
	}
	j.file, err = os.Stat(j.path)
	return err
}

// prepareSource returns what SQLite opens. It creates the file, and returns an error for files that SQLite would change
// although they are no whole journal.
func (j *Journal) prepareSource() (string, error) {
	if j.path == Memory {
		return Memory + "?_foreign_keys=1", nil
	}
	hasLog, err := j.inspectFiles()
	if err != nil {
		return "", err
	}
	if err := createFile(j.path); err != nil {
		return "", err
	}
	file, err := fileURI(j.path)
	if err != nil {
		return "", err
	}
	source := fmt.Sprintf("%s?_busy_timeout=%d&_foreign_keys=1&_synchronous=FULL", file, busyTimeout.Milliseconds())
	return source, j.checkDamage(context.Background(), hasLog, source)
}

// errReplaced means that the path no longer leads to the open file. SQLite continues to write to
// the deleted file, and all of that is lost.
var errReplaced = errors.New(
	"the journal file was deleted or replaced while this process runs: it can no longer record the deployment")

// checkFile returns an error if the path leads to another file than the open one.
func (j *Journal) checkFile() error {
	if j.file == nil {
		return nil
	}
	now, err := os.Stat(j.path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !os.SameFile(j.file, now):
		return errReplaced
	}
	return err
}

// openPool opens a pool that never closes its connections: closing the only connection deletes a
// memory database.
func openPool(source string, connections int) (*sql.DB, error) {
	db, err := sql.Open("sqlite", source)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db, nil
}

// createFile creates an empty file that only its owner may read. SQLite gives its additional files
// the same mode.
func createFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// fileURI returns the file: URI of path, which may contain any character.
func fileURI(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	abs = filepath.ToSlash(abs)
	if !strings.HasPrefix(abs, "/") {
		abs = "/" + abs // a drive letter
	}
	u := url.URL{Scheme: "file", Path: abs}
	return u.String(), nil
}

// Close closes the journal. All written rows remain.
func (j *Journal) Close() error {
	errs := []error{j.statements.closeAll()}
	if j.reader != nil && j.reader != j.writer {
		errs = append(errs, j.reader.Close())
	}
	if j.writer != nil {
		errs = append(errs, j.writer.Close())
	}
	if err := errors.Join(errs...); err != nil {
		return &sluice.Error{Op: "close the journal", Resource: j.path, Err: err}
	}
	return nil
}

// Path returns the path that [Open] was given.
func (j *Journal) Path() string { return j.path }
