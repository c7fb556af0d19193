package definition

import (
	"cmp"
	"fmt"
	"slices"
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
	Unset        string // the variable that is not set, if that is the problem

	caret int // column in Source, which may be a part of the line

	isKey  bool     // the place is that of a key
	within *Node    // the map that lacks a key; nil: the problem is another one
	lacks  []string // the keys of which it has none
	stands string   // the key in whose place the problem's key is
}

// Lacks keeps that the problem is a map without any of these keys, and returns the problem. If a key of the map is
// misspelled for one of them, [JoinProblems] returns only the problem of that key.
func (p *Problem) Lacks(within *Node, keys ...string) *Problem {
	p.within, p.lacks = within, keys
	return p
}

// StandsFor keeps that the key of the problem is in place of another one, as a misspelled key is.
func (p *Problem) StandsFor(key string) { p.stands = key }

// LacksIn is [Problem.Lacks] for the keys of a map that is under a key of another one, which may have none.
func (p *Problem) LacksIn(outer *Node, key string, keys ...string) *Problem {
	if inner := outer.Get(key); inner != nil && inner.Kind == Map {
		return p.Lacks(inner, keys...)
	}
	return p.Lacks(outer, key)
}

// isMisspelledKey reports whether the problem is a key that was probably meant for another one.
func (p *Problem) isMisspelledKey() bool { return p.isKey && p.instead() != "" }

// instead returns the key that the file was to have in place of the one of the problem.
func (p *Problem) instead() string { return cmp.Or(p.stands, p.Meant) }

// followsFrom reports whether a key that is misspelled is why the problem's map lacks one.
func (p *Problem) followsFrom(q *Problem) bool {
	return p.within != nil && p.File == q.File && q.isMisspelledKey() && slices.Contains(p.lacks, q.instead()) &&
		slices.ContainsFunc(p.within.Entries, func(e Entry) bool { return e.Line == q.Line && e.Column == q.Column })
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
