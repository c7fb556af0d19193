package world

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
)

func isControl(r rune) bool { return r != '\n' && r != '\t' && !strconv.IsPrint(r) }

// Printable returns a text with its control characters escaped: a terminal shows the text and does not
// obey it. Line ends and tabs stay.
func Printable(text string) string {
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

// PrintableJSON returns a JSON text in which also those control characters are escaped that JSON allows.
func PrintableJSON(text []byte) []byte {
	if !bytes.ContainsFunc(text, isControl) {
		return text
	}
	var b []byte
	for _, r := range string(text) {
		if !isControl(r) {
			b = append(b, string(r)...)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			b = fmt.Appendf(b, `\u%04x`, unit)
		}
	}
	return b
}
