package image

import (
	"fmt"
	"strings"
)

// AtStart is what a container prints when it starts, line by line.
func (b Behaviour) AtStart() []string {
	lines := []string{"version " + b.Version + " starts"}
	if b.CrashAfter == 0 {
		lines = append(lines, b.Prints...)
	}
	return lines
}

// AtExit is what it prints when it ends by itself with an exit code. Codes above
// 127 are those of signals, which leave no time for a word, and of programs that
// never ran.
func (b Behaviour) AtExit(code int) []string {
	var lines []string
	if b.CrashAfter > 0 {
		lines = append(lines, b.Prints...)
	}
	if code > 0 && code < 128 {
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
