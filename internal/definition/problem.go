package definition

import (
	"fmt"
	"strings"
)

// Problem is one error in a file, with its place.
type Problem struct {
	File         string
	Line, Column int    // from 1; the column counts characters
	Source       string // the line, or the part of a long one around the column; values that may be secret are masked
	Message      string
	Meant        string // the key or value probably meant; may be empty
	Next         string // what to do; may be empty if Message or Meant says it

	caret int // column in Source, which may be a part of the line
}

func (p *Problem) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
	if p.Source != "" {
		b.WriteString("\n" + p.sourceExcerpt())
	}
	if p.Meant != "" {
		fmt.Fprintf(&b, "\ndid you mean %q?", p.Meant)
	}
	if p.Next != "" {
		b.WriteString("\nnext: " + p.Next)
	}
	return b.String()
}

// sourceExcerpt returns the line and, under it, a caret at the column.
func (p *Problem) sourceExcerpt() string {
	number := fmt.Sprintf("%4d", p.Line)
	gap := strings.Repeat(" ", len(number))
	return fmt.Sprintf("%s | %s\n%s | %s^", number, p.Source, gap, indentTo(p.Source, p.caret))
}

// indentTo returns blanks as wide as the characters before column. Tabs remain tabs, so that the
// caret is under its character.
func indentTo(line string, column int) string {
	var b strings.Builder
	for i, r := range []rune(line) {
		if i >= column-1 {
			break
		}
		if r != '\t' {
			r = ' '
		}
		b.WriteRune(r)
	}
	return b.String()
}
