package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/sluice-ecs/sluice/internal/buildinfo"
)

// applicationID marks the file as a journal of sluice ("SLCE"); SQLite keeps it
// in the header.
const applicationID = 0x534c4345

// migrations are applied in order; the file's user_version counts them. A
// released one never changes. Times are nanoseconds since 1970 in UTC; 0 means
// no time.
var migrations = []string{
	`
CREATE TABLE deployments (
	n           INTEGER PRIMARY KEY AUTOINCREMENT,
	id          TEXT NOT NULL UNIQUE,
	application TEXT NOT NULL,
	account     TEXT NOT NULL,
	region      TEXT NOT NULL,
	cluster     TEXT NOT NULL,
	service     TEXT NOT NULL,
	cause_of    TEXT NOT NULL, -- the trigger
	state       TEXT NOT NULL,
	outcome     TEXT NOT NULL,
	cause       TEXT NOT NULL,
	next        TEXT NOT NULL,
	plan        BLOB NOT NULL,
	began       INTEGER NOT NULL,
	updated     INTEGER NOT NULL,
	ended       INTEGER NOT NULL
) STRICT;
CREATE INDEX deployments_of_service ON deployments (service, cluster, region, account, n);

CREATE TABLE saved (
	deployment TEXT NOT NULL REFERENCES deployments (id),
	key        TEXT NOT NULL,
	value      BLOB NOT NULL,
	at         INTEGER NOT NULL,
	PRIMARY KEY (deployment, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE stages (
	deployment TEXT NOT NULL REFERENCES deployments (id),
	place      INTEGER NOT NULL,
	name       TEXT NOT NULL,
	status     TEXT NOT NULL,
	began      INTEGER NOT NULL,
	ended      INTEGER NOT NULL,
	cause      TEXT NOT NULL,
	kind       TEXT NOT NULL,
	attempts   INTEGER NOT NULL,
	PRIMARY KEY (deployment, place)
) STRICT, WITHOUT ROWID;

CREATE TABLE actions (
	n          INTEGER PRIMARY KEY AUTOINCREMENT,
	id         TEXT NOT NULL UNIQUE,
	deployment TEXT NOT NULL REFERENCES deployments (id),
	operation  TEXT NOT NULL,
	resource   TEXT NOT NULL,
	result     TEXT NOT NULL,
	cause      TEXT NOT NULL,
	began      INTEGER NOT NULL,
	ended      INTEGER NOT NULL,
	attempts   INTEGER NOT NULL
) STRICT;
CREATE INDEX actions_of_deployment ON actions (deployment, n);

CREATE TABLE commands (
	seq        INTEGER PRIMARY KEY AUTOINCREMENT,
	deployment TEXT NOT NULL REFERENCES deployments (id),
	kind       TEXT NOT NULL,
	stage      TEXT NOT NULL,
	by         TEXT NOT NULL,
	at         INTEGER NOT NULL
) STRICT;
CREATE INDEX commands_of_deployment ON commands (deployment, seq);

CREATE TABLE events (
	deployment TEXT NOT NULL REFERENCES deployments (id),
	seq        INTEGER NOT NULL,
	at         INTEGER NOT NULL,
	schema     TEXT NOT NULL,
	stage      TEXT NOT NULL,
	kind       TEXT NOT NULL,
	data       BLOB NOT NULL,
	PRIMARY KEY (deployment, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE leases (
	resource TEXT PRIMARY KEY,
	owner    TEXT NOT NULL, -- empty: released
	fence    INTEGER NOT NULL,
	until    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`,
	`
ALTER TABLE deployments ADD COLUMN endpoint TEXT; -- NULL: an older sluice recorded the deployment
ALTER TABLE deployments ADD COLUMN world TEXT NOT NULL DEFAULT '';
`,
	`
ALTER TABLE deployments ADD COLUMN started_by TEXT NOT NULL DEFAULT ''; -- empty: an older sluice recorded it
`,
	`
CREATE TABLE writers ( -- who brought the file to a schema; a sluice that is too old for the file reads it, so it stays
	schema  INTEGER PRIMARY KEY,
	version TEXT NOT NULL -- such as v1.2.3, or (devel)
) STRICT;
`,
	`
ALTER TABLE deployments ADD COLUMN idle INTEGER NOT NULL DEFAULT 0; -- nanoseconds between an end and a reopening
`,
}

// errNewerSchema and errNotJournal are the reasons to refuse a file.
type (
	errNewerSchema struct {
		version int
		writer  string // the version of the sluice that wrote it; "" if it has none
	}
	errNotJournal struct{ kind string } // "" or what it is instead
)

func (e errNewerSchema) Error() string {
	return fmt.Sprintf("%s wrote the journal (schema %d; this sluice, %s, supports up to %d)",
		e.writerText(), e.version, buildinfo.Read().Version, len(migrations))
}

// writerText names the sluice that wrote the journal.
func (e errNewerSchema) writerText() string {
	if e.writer == "" {
		return "a newer sluice"
	}
	return "sluice " + e.writer
}

func (e errNewerSchema) next() string {
	install := "use the sluice that wrote it"
	if e.writer != "" {
		install = "install sluice " + e.writer + " or later"
	}
	return install + ", or name another journal with --state FILE"
}

func (e errNotJournal) Error() string {
	if e.kind == "" {
		return "the file is not a journal of sluice"
	}
	return "the file is " + e.kind + ", but not a journal of sluice"
}

// migrateSchema applies the missing migrations. If two processes migrate at the same time, the
// second waits for the first and finds the schema complete.
func (j *Journal) migrateSchema(ctx context.Context) error {
	version, err := j.schemaVersion(ctx)
	if err != nil {
		return err
	}
	if j.path != Memory {
		if err := j.switchToWAL(ctx); err != nil {
			return err
		}
	}
	if version == len(migrations) {
		return nil
	}
	return j.runTransaction(ctx, func(tx *tx) error {
		version, err := j.checkSchema(tx.queryRow)
		if err != nil || version == len(migrations) {
			return err
		}
		for _, m := range migrations[version:] {
			if err := tx.exec(m); err != nil {
				return err
			}
		}
		if err := tx.exec(`INSERT INTO writers (schema, version) VALUES (?, ?)`, len(migrations),
			buildinfo.Read().Version); err != nil {
			return err
		}
		return tx.exec(fmt.Sprintf(`PRAGMA application_id = %d; PRAGMA user_version = %d`, applicationID,
			len(migrations)))
	})
}

// switchToWAL sets the file's journal mode. It is not in the connection string: a file that is no
// journal must stay unchanged.
//
// SQLite does not wait here if another process switches the same new file: it reports SQLITE_BUSY
// at once, whatever the busy timeout is. It waits for a write lock, so sluice waits for one.
func (j *Journal) switchToWAL(ctx context.Context) error {
	return retryWhileBusy(func() error {
		_, err := j.writer.ExecContext(ctx, `PRAGMA journal_mode = WAL`)
		return err
	}, func() error {
		return j.runTransaction(ctx, func(*tx) error { return nil })
	})
}

// retryWhileBusy repeats try while other processes have the lock. wait waits for them, or returns
// why it gave up.
func retryWhileBusy(try, wait func() error) error {
	for {
		var busy *sqlite.Error
		err := try()
		if !errors.As(err, &busy) || busy.Code()&0xff != sqlite3.SQLITE_BUSY {
			return err
		}
		if err := wait(); err != nil {
			return err
		}
	}
}

func (j *Journal) schemaVersion(ctx context.Context) (int, error) {
	return j.checkSchema(func(query string, args ...any) *sql.Row {
		return j.writer.QueryRowContext(ctx, query, args...)
	})
}

// checkSchema returns the file's schema version, or an error if the file is no journal of this
// sluice.
func (j *Journal) checkSchema(row func(query string, args ...any) *sql.Row) (int, error) {
	var app, version, tables int
	err := row(`SELECT (SELECT application_id FROM pragma_application_id),
		(SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)`).Scan(&app, &version, &tables)
	switch {
	case err != nil:
		return 0, err
	case app != applicationID && (app != 0 || version != 0 || tables != 0):
		return 0, errNotJournal{"a SQLite database"}
	case version == 0 && tables != 0:
		return 0, errDamaged{"it has tables, and its header has no schema version"}
	case version > len(migrations):
		return 0, errNewerSchema{version, readWriter(row, version)}
	}
	return version, nil
}

// readWriter returns the version of the sluice that brought the file to a schema. It is printed, so a text that is no
// version is left out.
func readWriter(row func(query string, args ...any) *sql.Row, schema int) string {
	var version string
	err := row(`SELECT version FROM writers WHERE schema = ?`, schema).Scan(&version)
	if err != nil || !writerForm.MatchString(version) {
		return ""
	}
	return version
}

var writerForm = regexp.MustCompile(`^v[0-9][0-9A-Za-z.+-]{0,80}$`)
