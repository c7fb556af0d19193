package journal

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/sluice-ecs/sluice/internal/filekind"
)

// errNoFile is a path that leads to something else than a file.
type errNoFile struct{ kind string }

func (e errNoFile) Error() string { return "the path leads to " + e.kind + ", not to a file" }

// errDamaged is a journal whose files lost a part, or that do not belong together.
type errDamaged struct{ why string }

func (e errDamaged) Error() string { return "the journal is damaged: " + e.why }

// inspectFiles reports whether the file at the path has a write-ahead log, or returns an error if the path leads to no
// journal. It does not change the files: SQLite would wait for a pipe without an end, and would delete the log of an
// empty file with all that is in it.
//
// It looks at the log first: a process that creates a journal writes the file before the log.
func (j *Journal) inspectFiles() (hasLog bool, err error) {
	if log, err := os.Stat(j.path + "-wal"); err == nil {
		hasLog = log.Size() > 0
	}
	file, err := os.Stat(j.path)
	isMissing := errors.Is(err, fs.ErrNotExist)
	switch {
	case err != nil && !isMissing:
		return false, err
	case err == nil && !file.Mode().IsRegular():
		return false, errNoFile{filekind.Name(file.Mode())}
	case hasLog && (isMissing || file.Size() == 0):
		return false, errDamaged{"the file is missing or empty, and its log " + j.path + "-wal is not"}
	case !hasLog && !isMissing && file.Size() > 0:
		return false, j.checkHeader()
	}
	return hasLog, nil
}

// header is how each file of SQLite begins (SQLite, "Database File Format").
const header = "SQLite format 3\x00"

// checkHeader returns an error if the file is none of SQLite.
func (j *Journal) checkHeader() error {
	f, err := os.Open(j.path)
	if err != nil {
		return err
	}
	defer f.Close()
	begin := make([]byte, len(header))
	switch _, err := io.ReadFull(f, begin); {
	case errors.Is(err, io.ErrUnexpectedEOF), err == nil && string(begin) != header:
		return errNotJournal{}
	default:
		return err
	}
}

// checkDamage returns an error if there is a log and it does not belong to the file: then a process was killed, or the
// files were copied one without the other. Without a log, SQLite notices by itself that a file was cut off.
//
// It opens the file for reading only: SQLite writes the log into the file when it closes a file that it may write.
func (j *Journal) checkDamage(ctx context.Context, hasLog bool, source string) error {
	if !hasLog {
		return nil
	}
	db, err := openPool(source+"&mode=ro", 1)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := j.checkLog(ctx, db, source); err != nil {
		return err
	}
	var problem string
	if err := db.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&problem); err != nil {
		return err
	}
	if problem != "ok" {
		return errDamaged{"a part of the file is missing"}
	}
	return nil
}

// checkLog returns an error if the first deployment in the file is not the first one with the log. The first deployment
// of a journal never changes. SQLite accepts the log of any file.
func (j *Journal) checkLog(ctx context.Context, withLog *sql.DB, source string) error {
	alone, err := openPool(source+"&immutable=1", 1) // SQLite then reads no log
	if err != nil {
		return err
	}
	defer alone.Close()
	const first = `SELECT id FROM deployments ORDER BY n LIMIT 1`
	var id, with string
	if alone.QueryRowContext(ctx, first).Scan(&id) != nil {
		return nil // the file has no deployment yet, or cannot be read alone
	}
	err = withLog.QueryRowContext(ctx, first).Scan(&with)
	if id != with && (err == nil || errors.Is(err, sql.ErrNoRows)) {
		return errDamaged{"its log " + j.path + "-wal is that of another file"}
	}
	return err
}
