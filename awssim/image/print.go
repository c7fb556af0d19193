package image

import (
	"fmt"
	"slices"
	"strings"
)

// neverRan reports whether the program could not even begin: then nothing but its
// shell's complaint is printed.
func (b Behaviour) neverRan() bool {
	return b.CrashAfter == atOnce && slices.Contains(b.Prints, execFormat)
}

// AtStart is what a container prints when it starts, line by line.
func (b Behaviour) AtStart() []string {
	if b.neverRan() {
		return nil
	}
	lines := []string{"version " + b.Version + " starts"}
	if b.CrashAfter == 0 {
		lines = append(lines, b.Prints...)
	}
	return lines
}

// AtExit is what it prints when it ends by itself with an exit code. Codes above
// 127 are those of signals, which leave no time for a word.
func (b Behaviour) AtExit(code int) []string {
	var lines []string
	if b.CrashAfter > 0 {
		lines = append(lines, b.Prints...)
	}
	if code > 0 && code < 128 && !b.neverRan() {
		lines = append(lines, fmt.Sprintf("fatal: exit %d", code))
	}
	return lines
}

// lines splits the value of the option prints.
func lines(value string) ([]string, error) {
	var all []string
	for _, l := range strings.FieldsFunc(value, func(r rune) bool { return r == '\n' || r == '|' }) {
		if l = strings.TrimSpace(l); l != "" {
			all = append(all, l)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("needs a line of text; several are separated by |")
	}
	return all, nil
}
