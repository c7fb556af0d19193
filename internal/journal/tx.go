package journal

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/sluice-ecs/sluice"
)

// ErrNotFound is in the tree of an error about a deployment, stage or action
// that the journal does not have.
var ErrNotFound = errors.New("the journal has no such entry")

// ErrExists is in the tree of an error about a deployment that the journal already has.
var ErrExists = errors.New("the journal already has this entry")

// ErrUnusable is in the tree of an error if the file could not be written or read, for example
// because the disk is full. It does not mean that the recorded operation failed.
var ErrUnusable = errors.New("the journal cannot be written or read")

// tx is a write transaction on the one writing connection.
type tx struct {
	ctx  context.Context
	conn *sql.Conn
}

func (t *tx) exec(query string, args ...any) error {
	_, err := t.conn.ExecContext(t.ctx, query, args...)
	return err
}

// execOrNotFound runs a statement that must change a row. If it changes none, it returns
// ErrNotFound.
func (t *tx) execOrNotFound(query string, args ...any) error {
	res, err := t.conn.ExecContext(t.ctx, query, args...)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n > 0 {
		return err
	}
	return ErrNotFound
}

func (t *tx) queryRow(query string, args ...any) *sql.Row {
	return t.conn.QueryRowContext(t.ctx, query, args...)
}

// runWrite runs f in a transaction that is durable when runWrite returns nil. op and resource are
// for the error.
func (j *Journal) runWrite(ctx context.Context, op, resource string, f func(*tx) error) error {
	if ctx.Err() != nil {
		return j.explainError(op, resource, context.Cause(ctx))
	}
	write := func() error { return j.runTransaction(ctx, f) }
	if j.wrapWrite != nil {
		inner := write
		write = func() error { return j.wrapWrite(op, inner) }
	}
	if err := write(); err != nil {
		return j.explainError(op, resource, err)
	}
	return nil
}

// WrapWrites sets f to be called in place of each write from now on. Rehearsals use it to kill a
// process before or after a row and to simulate a full disk. Other code must not call it.
func (j *Journal) WrapWrites(f func(op string, write func() error) error) { j.wrapWrite = f }

// runTransaction takes the write lock first (IMMEDIATE), so that reads inside are current. It uses
// plain statements and not sql.Tx: sql.Tx rolls back from its own goroutine when ctx ends, and may
// drop a memory database.
func (j *Journal) runTransaction(ctx context.Context, f func(*tx) error) (err error) {
	ctx = context.WithoutCancel(ctx)
	if err := j.checkFile(); err != nil {
		return err
	}
	conn, err := j.writer.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	t := &tx{ctx, conn}
	if err := t.exec(`BEGIN IMMEDIATE`); err != nil {
		return err
	}
	done := false
	defer func() {
		if !done {
			_ = t.exec(`ROLLBACK`) // SQLite may have rolled back by itself
		}
	}()
	if err := f(t); err != nil {
		return err
	}
	if err := t.exec(`COMMIT`); err != nil {
		return err
	}
	done = true
	return nil
}

// listRows reads all rows of a query.
func listRows[T any](ctx context.Context, j *Journal, op, resource string, scan func(scanner) (T, error), query string,
	args ...any) ([]T, error) {
	if ctx.Err() != nil {
		return nil, j.explainError(op, resource, context.Cause(ctx))
	}
	all, err := scanRows(context.WithoutCancel(ctx), j, scan, query, args...)
	if err != nil {
		return nil, j.explainError(op, resource, err)
	}
	return all, nil
}

// scanner is a row to scan.
type scanner interface{ Scan(into ...any) error }

func scanRows[T any](ctx context.Context, j *Journal, scan func(scanner) (T, error), query string, args ...any) ([]T,
	error) {
	rows, err := j.statements.runQuery(ctx, j.reader, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		t, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, rows.Err()
}

// firstRow returns the one row of a query, or ErrNotFound.
func firstRow[T any](ctx context.Context, j *Journal, op, resource string, scan func(scanner) (T, error), query string,
	args ...any) (T, error) {
	all, err := listRows(ctx, j, op, resource, scan, query, args...)
	if err == nil && len(all) == 0 {
		err = j.explainError(op, resource, ErrNotFound)
	}
	if err != nil {
		var none T
		return none, err
	}
	return all[0], nil
}

// nowNanos returns the clock's time as a column stores it.
func (j *Journal) nowNanos() int64 { return j.clock.Now().UnixNano() }

// timeOfNanos converts a time column.
func timeOfNanos(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}

// unusable marks an error as [ErrUnusable].
type unusable struct{ error }

func (u unusable) Unwrap() error { return u.error }

func (unusable) Is(target error) bool { return target == ErrUnusable }

// Operations before a deployment is recorded, as errors name them.
const (
	opOpen   = "open the journal"
	opCreate = "record the deployment"
)

func (j *Journal) explainError(op, resource string, err error) error {
	e := &sluice.Error{Op: op, Resource: resource, Err: err}
	var known *sluice.Error
	var newer errNewerSchema
	var foreign errNotJournal
	var noFile errNoFile
	var damaged errDamaged
	switch {
	case errors.As(err, &known):
		return err
	case errors.Is(err, ErrNotFound):
		e.Kind = sluice.NotFound
	case errors.As(err, &newer):
		e.Next = newer.next()
	case errors.As(err, &damaged):
		e.Err, e.Next = unusable{err}, j.moveAway()
	case errors.As(err, &foreign):
		e.Next = "give --state the file of a journal, or of one that does not exist yet"
	case errors.As(err, &noFile):
		e.Next = "name another journal with --state FILE"
	case errors.Is(err, ErrLost), errors.Is(err, ErrHeld):
	default:
		if j.explainSQLite(e); e.Kind == "" {
			e.Err = unusable{e.Err}
		}
	}
	return e
}

func (j *Journal) explainSQLite(e *sluice.Error) {
	var s *sqlite.Error
	var file *fs.PathError
	if errors.Is(e.Err, errReplaced) {
		e.Next = "restore the file at " + j.path +
			" and run sluice resume; if the file is lost, run sluice deploy --adopt in the application's folder"
		return
	}
	if errors.As(e.Err, &file) {
		e.Next = "make " + j.path + " and its folder writable, or name another journal with --state FILE"
		return
	}
	if !errors.As(e.Err, &s) {
		return
	}
	switch s.Code() {
	case sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY:
		e.Err, e.Kind = ErrNotFound, sluice.NotFound
		return
	case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY:
		e.Err, e.Kind = ErrExists, sluice.Conflict
		return
	}
	switch s.Code() & 0xff {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR:
		e.Next = "free space on the disk of " + j.path + ", then run sluice resume"
		if e.Op == opOpen || e.Op == opCreate { // no deployment is recorded
			e.Next = "free space on the disk of " + j.path + ", then run the same command again"
		}
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		e.Next = "find the process that has locked " + j.path + " for " + busyTimeout.String() + ", then try again"
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		e.Next = "make " + j.path + " and its folder writable, or name another journal with --state FILE"
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		e.Next = j.moveAway()
	}
}

// moveAway is what to do about files that cannot be read. The log has to go with its file: SQLite would read it as
// that of the next journal at this path.
func (j *Journal) moveAway() string {
	return "move " + j.path + " and " + j.path + "-wal away, or name another journal with --state FILE"
}
