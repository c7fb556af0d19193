package show

import (
	"fmt"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/printable"
)

// Paint is how text is shown: it colors text, or returns it unchanged, and shortens ARNs.
type Paint struct {
	on      bool
	own     printable.CodePrefix // precedes each code
	names   *sluice.ARNNames     // nil: there are none
	verbose *bool                // ARNs are shown in full; nil: they are not
}

// NewPaint returns a paint that colors text if on is set. own precedes each code. ARNs are shown in
// full if verbose is set when the text is shown.
func NewPaint(on bool, own printable.CodePrefix, verbose *bool) Paint {
	return Paint{on: on, own: own, verbose: verbose}
}

// WithNames returns a paint that knows the names of the plan's listeners.
func (p Paint) WithNames(pl *plan.Plan) Paint {
	names := pl.ARNNames()
	p.names = &names
	return p
}

// ARNs returns a text with short names for ARNs, or unchanged with --verbose.
func (p Paint) ARNs(s string) string {
	if p.verbose != nil && *p.verbose {
		return s
	}
	if p.names == nil {
		return sluice.ARNNames(nil).Shorten(s)
	}
	return p.names.Shorten(s)
}

func (p Paint) wrapCode(code, s string) string {
	if !p.on || s == "" {
		return s
	}
	return p.own.Code("["+code+"m") + s + p.own.Code("[0m")
}

func (p Paint) Bold(s string) string { return p.wrapCode("1", s) }

func (p Paint) Dim(s string) string { return p.wrapCode("2", s) }

func (p Paint) Bad(s string) string { return p.wrapCode("31", s) }

func (p Paint) Good(s string) string { return p.wrapCode("32", s) }

func (p Paint) Warn(s string) string { return p.wrapCode("33", s) }

// EraseRows returns the codes that erase the last rows from the screen.
func (p Paint) EraseRows(rows int) string {
	if rows == 0 {
		return ""
	}
	return p.own.Code(fmt.Sprintf("[%dA", rows)) + p.own.Raw("\r") + p.own.Code("[J")
}

// OneLine returns a text without the codes of others, as one line.
func (p Paint) OneLine(s string) string { return p.own.Line(s) }

// ClipLine cuts a line that the terminal would wrap, and ends it with an ellipsis. The redraw counts
// lines, so that no line may wrap. Color codes do not count as width.
func (p Paint) ClipLine(s string, width int) string {
	if s = p.OneLine(s); width <= 0 {
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

// PadRight fills s with spaces up to a width. Color the result, not s: codes count as width here.
func PadRight(s string, width int) string {
	if n := width - len([]rune(s)); n > 0 {
		return s + strings.Repeat(" ", n)
	}
	return s
}
