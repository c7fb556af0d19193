package world

import (
	"fmt"
	"io"
	"time"
)

// Entry is one line of the world's log: time, object and what happened.
type Entry struct {
	At     time.Time
	Region Key
	Kind   string // "task", "target", "rule", "call" …
	Object string // a name or the end of an ARN
	Text   string
}

func (e Entry) String() string {
	return fmt.Sprintf("%s %s/%s %s %s: %s", e.At.Format("2006-01-02T15:04:05.000000Z"),
		e.Region.Account, e.Region.Region, e.Kind, e.Object, e.Text)
}

type entryLog struct {
	limit   int
	entries []Entry
}

func (j *entryLog) addEntry(e Entry) {
	if j.limit > 0 && len(j.entries) >= 2*j.limit {
		j.entries = append(j.entries[:0:0], j.entries[len(j.entries)-j.limit:]...)
	}
	j.entries = append(j.entries, e)
}

// Log writes a line to the world's log.
func (tx *Tx) Log(kind, object, format string, args ...any) {
	tx.w.log.addEntry(Entry{tx.w.now, tx.Key, kind, Printable(object), Printable(fmt.Sprintf(format, args...))})
}

// Entries returns a copy of the log.
func (w *World) Entries() []Entry {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]Entry(nil), w.log.entries...)
}

// WriteLog writes the log as text, one line per entry.
func (w *World) WriteLog(out io.Writer) error {
	for _, e := range w.Entries() {
		if _, err := fmt.Fprintln(out, e); err != nil {
			return err
		}
	}
	return nil
}
