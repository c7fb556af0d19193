package show

import (
	"bytes"
	"io"
	"text/tabwriter"
)

// Table aligns columns, which tabs separate. It writes whole lines, because a terminal's writer wraps
// only those.
type Table struct {
	to      io.Writer
	lines   bytes.Buffer
	columns *tabwriter.Writer
}

// NewTable returns an empty table, which Flush writes.
func NewTable(to io.Writer) *Table {
	t := &Table{to: to}
	t.columns = tabwriter.NewWriter(&t.lines, 0, 0, 2, ' ', 0)
	return t
}

func (t *Table) Write(p []byte) (int, error) { return t.columns.Write(p) }

// Flush aligns and writes the table.
func (t *Table) Flush() error {
	if err := t.columns.Flush(); err != nil {
		return err
	}
	_, err := t.lines.WriteTo(t.to)
	return err
}
