package printable

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sluice-ecs/sluice/internal/secret"
)

// Text is a text that may be printed: without characters that a terminal or a CI
// system obeys, and without what looks like a secret. Lines and tabs stay.
func Text(text string) string {
	text = secret.Mask(text)
	if isClean(text) {
		return text
	}
	c := cleaner{isLineStart: true}
	c.write(text)
	return c.out.String()
}

// Line is a text as one line: line ends within it are shown as \n.
func Line(text string) string {
	text = strings.TrimRight(text, "\r\n")
	return strings.NewReplacer("\r\n", `\n`, "\n", `\n`).Replace(Text(text))
}

// Clip is a text of at most so many characters, and says how many are left out.
func Clip(text string, most int) string {
	n := utf8.RuneCountInString(text)
	if n <= most {
		return text
	}
	return fmt.Sprintf("%s … (%d more characters)", string([]rune(text)[:most]), n-most)
}

// Obeyed reports whether a terminal, a log or a reader's eye obeys the character
// instead of showing it: control characters, format characters such as those that
// change the direction of text, and separators of lines.
func Obeyed(r rune) bool {
	return r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// Escaped is a character as JSON escapes it.
func Escaped(r rune) string {
	if a, b := utf16.EncodeRune(r); a != unicode.ReplacementChar {
		return fmt.Sprintf(`\u%04x\u%04x`, a, b)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// isClean is a fast answer for most texts; false may be wrong.
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
	isLineStart bool // nothing but blanks since the line began
}

func (c *cleaner) write(text string) {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		c.character(r, size, text[i+size:])
		i += size
		if r == '\r' && strings.HasPrefix(text[i:], "\n") {
			i++
		}
	}
}

// character writes one character; rest is what follows it.
func (c *cleaner) character(r rune, size int, rest string) {
	switch {
	case r == '\r' && strings.HasPrefix(rest, "\n"):
		r = '\n'
		c.out.WriteByte('\n')
	case r == utf8.RuneError && size == 1:
		c.out.WriteRune(utf8.RuneError)
	case Obeyed(r), c.isCommand(r, rest):
		c.out.WriteString(Escaped(r))
	default:
		c.out.WriteRune(r)
	}
	c.isLineStart = r == '\n' || c.isLineStart && unicode.IsSpace(r)
}

// isCommand reports whether a command of a CI system begins here: `::` at the
// start of a line (GitHub documentation, "Workflow commands for GitHub Actions"),
// `##[` and `##name[` anywhere (the older form, Azure Pipelines, TeamCity). A colon
// at the end may become one.
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
