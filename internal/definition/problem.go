package definition

import (
	"fmt"
	"strings"
)

// Problem is one thing wrong in a file, with its place.
type Problem struct {
	File         string
	Line, Column int    // from 1; the column counts characters
	Source       string // the line itself, or the part of a long one around the column; values that may be secret are starred out
	Message      string
	Meant        string // the key or value probably meant; may be empty

	caret int // column of Source, which is cut out of a long line
}

func (p *Problem) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
	if p.Source != "" {
		b.WriteString("\n" + p.excerpt())
	}
	if p.Meant != "" {
		fmt.Fprintf(&b, "\ndid you mean %q?", p.Meant)
	}
	return b.String()
}

// excerpt is the line and, under it, a caret at the column.
func (p *Problem) excerpt() string {
	number := fmt.Sprintf("%4d", p.Line)
	gap := strings.Repeat(" ", len(number))
	return fmt.Sprintf("%s | %s\n%s | %s^", number, p.Source, gap, indentTo(p.Source, p.caret))
}

// indentTo is blank space as wide as the characters before column: tabs stay
// tabs, so that the caret stands under its character.
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
