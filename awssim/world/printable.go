package world

import (
	"strconv"
	"strings"
)

// Printable returns a text with its control characters escaped: a terminal shows the text and does not
// obey it. Line ends and tabs stay.
func Printable(text string) string {
	isControl := func(r rune) bool { return r != '\n' && r != '\t' && !strconv.IsPrint(r) }
	if !strings.ContainsFunc(text, isControl) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if isControl(r) {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
