package journal

import (
	"context"
	"fmt"
)

// LimitPages makes the database full at n pages, as a full disk would.
func (j *Journal) LimitPages(ctx context.Context, n int) error {
	_, err := j.writer.ExecContext(ctx, fmt.Sprintf(`PRAGMA max_page_count = %d`, n))
	return err
}

// FailCommits lets the COMMIT of every later Save fail, by a foreign key that SQLite
// checks only then.
func (j *Journal) FailCommits(ctx context.Context) error {
	_, err := j.writer.ExecContext(ctx, `
		CREATE TEMP TABLE parents (id INTEGER PRIMARY KEY);
		CREATE TEMP TABLE children (id INTEGER REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED);
		CREATE TEMP TRIGGER orphan AFTER INSERT ON main.saved BEGIN INSERT INTO children VALUES (1); END`)
	return err
}

// Schema is the number of the newest schema.
var Schema = len(migrations)

// Migration returns a step of the schema.
func Migration(n int) string { return migrations[n] }

// RetryWhileBusy is the loop around SQLite's statements that do not wait for a lock.
func RetryWhileBusy(try, wait func() error) error { return retryWhileBusy(try, wait) }
