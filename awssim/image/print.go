package image

import (
	"fmt"
	"slices"
	"strings"
)

// cannotExecute reports whether the program cannot be executed: then only the error of its shell is
// printed.
func (b Behaviour) cannotExecute() bool {
	return b.CrashAfter == instantExit && slices.Contains(b.Prints, execFormat)
}

// StartOutput returns the lines that a container prints when it starts.
func (b Behaviour) StartOutput() []string {
	if b.cannotExecute() {
		return nil
	}
	lines := []string{"version " + b.Version + " starts"}
	if b.CrashAfter == 0 {
		lines = append(lines, b.Prints...)
	}
	return lines
}

// ExitOutput returns the lines that a container prints when it ends by itself with an exit code.
// Codes above 127 are those of signals, after which it prints nothing.
func (b Behaviour) ExitOutput(code int) []string {
	var lines []string
	if b.CrashAfter > 0 {
		lines = append(lines, b.Prints...)
	}
	if code > 0 && code < 128 && !b.cannotExecute() {
		lines = append(lines, fmt.Sprintf("fatal: exit %d", code))
	}
	return lines
}

// splitLines splits the value of the option prints.
func splitLines(value string) ([]string, error) {
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
