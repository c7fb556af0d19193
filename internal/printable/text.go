package printable

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sluice-ecs/sluice/internal/secret"
)

// Text returns a text that may be printed: without characters that control a terminal or a CI
// system, and without text that looks like a secret. It keeps line ends and tabs.
func Text(text string) string {
	text = secret.Mask(text)
	if isClean(text) {
		return text
	}
	c := cleaner{isLineStart: true}
	c.writeText(text)
	return c.out.String()
}

// Line returns a text as one line: line ends within it become \n.
func Line(text string) string {
	text = strings.TrimRight(text, "\r\n")
	return strings.NewReplacer("\r\n", `\n`, "\n", `\n`).Replace(Text(text))
}

// Clip returns at most so many characters of a text, and the number of omitted characters.
func Clip(text string, most int) string {
	n := utf8.RuneCountInString(text)
	if n <= most {
		return text
	}
	return fmt.Sprintf("%s … (%d more characters)", string([]rune(text)[:most]), n-most)
}

// IsControl reports whether the character controls a terminal, a log or a reader's eye instead of
// being shown: control characters, format characters such as direction marks, and line separators.
func IsControl(r rune) bool {
	return r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// EscapeRune returns a character as JSON escapes it.
func EscapeRune(r rune) string {
	if a, b := utf16.EncodeRune(r); a != unicode.ReplacementChar {
		return fmt.Sprintf(`\u%04x\u%04x`, a, b)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// isClean is a fast check for most texts. A text for which it returns false may still be clean.
func isClean(text string) bool {
	for i := range len(text) {
		if c := text[i]; c != '\n' && c != '\t' && (c < ' ' || c > '~') || c == ':' || c == '#' {
			return false
		}
	}
	return true
}

// cleaner escapes a text piece by piece.
type cleaner struct {
	out         strings.Builder
	isLineStart bool // only blanks since the line began
}

func (c *cleaner) writeText(text string) {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		c.writeRune(r, size, text[i+size:])
		i += size
		if r == '\r' && strings.HasPrefix(text[i:], "\n") {
			i++
		}
	}
}

// writeRune writes one character; rest is the text after it.
func (c *cleaner) writeRune(r rune, size int, rest string) {
	switch {
	case r == '\r' && strings.HasPrefix(rest, "\n"):
		r = '\n'
		c.out.WriteByte('\n')
	case r == utf8.RuneError && size == 1:
		c.out.WriteRune(utf8.RuneError)
	case IsControl(r), c.isCommand(r, rest):
		c.out.WriteString(EscapeRune(r))
	default:
		c.out.WriteRune(r)
	}
	c.isLineStart = r == '\n' || c.isLineStart && unicode.IsSpace(r)
}

// isCommand reports whether a command of a CI system begins here. That is `::` at the start of a
// line (GitHub documentation, "Workflow commands for GitHub Actions"), or `##[` and `##name[`
// anywhere (the older form, Azure Pipelines, TeamCity). A colon at the end counts too: another may
// follow.
func (c *cleaner) isCommand(r rune, rest string) bool {
	switch r {
	case ':':
		return c.isLineStart && (rest == "" || rest[0] == ':')
	case '#':
		name, ok := strings.CutPrefix(rest, "#")
		return ok && strings.HasPrefix(strings.TrimLeftFunc(name, unicode.IsLetter), "[")
	}
	return false
}
