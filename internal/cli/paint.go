package cli

import (
	"io"
	"strings"
)

// paint colours text, or leaves it as it is.
type paint struct{ on bool }

// painter colours only what goes to a terminal, and never with NO_COLOR set.
func painter(env Env, w io.Writer) paint {
	return paint{env.IsTerminal(w) && env.Getenv("NO_COLOR") == ""}
}

func (p paint) with(code, s string) string {
	if !p.on || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p paint) bold(s string) string { return p.with("1", s) }
func (p paint) dim(s string) string  { return p.with("2", s) }
func (p paint) bad(s string) string  { return p.with("31", s) }
func (p paint) good(s string) string { return p.with("32", s) }
func (p paint) warn(s string) string { return p.with("33", s) }

// pad fills s with blanks up to a width; the paint comes after it.
func pad(s string, width int) string {
	if n := width - len([]rune(s)); n > 0 {
		return s + strings.Repeat(" ", n)
	}
	return s
}
