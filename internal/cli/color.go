package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/sluice-ecs/sluice/internal/printable"
)

// paint colors text, or returns it unchanged.
type paint struct {
	on  bool
	own printable.CodePrefix // precedes each code
}

// newPaint returns a paint that colors text for a terminal only, and never if NO_COLOR is set.
func newPaint(env Env, w io.Writer) paint {
	return paint{env.IsTerminal(w) && env.Getenv("NO_COLOR") == "", env.own}
}

func (p paint) wrapCode(code, s string) string {
	if !p.on || s == "" {
		return s
	}
	return p.own.Code("["+code+"m") + s + p.own.Code("[0m")
}

func (p paint) bold(s string) string { return p.wrapCode("1", s) }
func (p paint) dim(s string) string  { return p.wrapCode("2", s) }
func (p paint) bad(s string) string  { return p.wrapCode("31", s) }
func (p paint) good(s string) string { return p.wrapCode("32", s) }
func (p paint) warn(s string) string { return p.wrapCode("33", s) }

// eraseRows returns the codes that erase the last rows from the screen.
func (p paint) eraseRows(rows int) string {
	if rows == 0 {
		return ""
	}
	return p.own.Code(fmt.Sprintf("[%dA", rows)) + p.own.Raw("\r") + p.own.Code("[J")
}

// clipLine cuts a line that the terminal would wrap, and ends it with an ellipsis. The redraw counts
// lines, so that no line may wrap. Color codes do not count as width.
func (p paint) clipLine(s string, width int) string {
	if s = p.own.Line(s); width <= 0 {
		return s
	}
	seen, at, escape, colored := 0, 0, false, false
	for i, r := range s {
		switch {
		case r == '\x1b':
			escape, colored = true, colored || seen < width
		case escape:
			escape = r != 'm'
		default:
			if seen++; seen == width {
				at = i
			}
		}
	}
	switch {
	case seen <= width:
		return s
	case colored:
		return s[:at] + "…" + p.own.Code("[0m")
	}
	return s[:at] + "…"
}

// padRight fills s with spaces up to a width. Color the result, not s: codes count as width here.
func padRight(s string, width int) string {
	if n := width - len([]rune(s)); n > 0 {
		return s + strings.Repeat(" ", n)
	}
	return s
}
