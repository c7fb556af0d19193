package show

import (
	"io"
	"regexp"
	"strings"
	"unicode/utf8"
)

// narrowest is the smallest width of a terminal, in columns, for which lines are wrapped.
const narrowest = 40

// WrapWriter breaks lines at spaces that are wider than a terminal. It indents what follows a break, so
// that it does not look like a line of its own. What follows a break in a comment of a shell begins with
// # too. Lines of JSON pass unchanged, because programs read them, and export lines, because people paste
// them into a shell. The last line of a write passes unchanged too if no line feed ends it, as of a
// question. The excerpt of a file with its problem is cut around the problem instead.
type WrapWriter struct {
	to    io.Writer
	width func() int // of the terminal in columns; 0: unknown, and nothing is wrapped
}

// NewWrapWriter returns a writer that wraps lines before it writes them to a terminal.
func NewWrapWriter(to io.Writer, width func() int) *WrapWriter { return &WrapWriter{to, width} }

// Unwrap returns the terminal.
func (w *WrapWriter) Unwrap() io.Writer { return w.to }

func (w *WrapWriter) Write(p []byte) (int, error) {
	width := w.width()
	if width < narrowest {
		return w.to.Write(p)
	}
	lines := strings.SplitAfter(string(p), "\n")
	for i, line := range lines {
		if i+1 < len(lines) {
			if cut, caret, ok := cutExcerpt(strings.TrimSuffix(line, "\n"), strings.TrimSuffix(lines[i+1], "\n"), width); ok {
				lines[i], lines[i+1] = cut+"\n", caret+"\n"
				continue
			}
		}
		if text, ended := strings.CutSuffix(line, "\n"); ended {
			lines[i] = wrapLine(text, width) + "\n"
		}
	}
	if _, err := io.WriteString(w.to, strings.Join(lines, "")); err != nil {
		return 0, err
	}
	return len(p), nil
}

// terminalCode matches the codes that sluice writes to a terminal, also with their prefix. They have no width.
var terminalCode = regexp.MustCompile("\x1b(?:[0-9a-f]{16})?\\[[0-9;]*[A-Za-z]|\r")

// visibleWidth is how many columns a text takes on a terminal.
func visibleWidth(text string) int {
	return utf8.RuneCountInString(terminalCode.ReplaceAllString(text, ""))
}

// FitLines breaks the lines of a text as [WrapWriter] does, and drops those at the end that are too many for a terminal of
// that height, which keeps a row for the cursor. rows is how many rows the lines take: a word that is wider than the
// terminal takes several. A width or height of 0 is unknown.
func FitLines(text string, width, height int) (lines []string, rows int) {
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if width >= narrowest {
			line = wrapLine(line, width)
		}
		for part := range strings.SplitSeq(line, "\n") {
			takes := 1
			if width > 0 {
				takes = max(1, (visibleWidth(part)+width-1)/width)
			}
			if height > 1 && rows+takes > height-1 {
				return lines, rows
			}
			lines, rows = append(lines, part), rows+takes
		}
	}
	return lines, rows
}

// lineHead matches what precedes the text of a line: the sign of a comment, spaces, and a bullet, a time,
// a number, a sign or a label.
var lineHead = regexp.MustCompile(`^(?:# )? *(?:(?:[-+~•] |[0-9]+(?::[0-9]{2})+ +|[0-9]+ |next: |warning: |note: ))?`)

// wrapLine breaks a line at spaces, so that no part is wider than the terminal. A word that is wider
// itself, such as an ARN, is not broken, nor is a command of sluice or of a next step: people copy it.
func wrapLine(line string, width int) string {
	plain := terminalCode.ReplaceAllString(line, "")
	if visibleWidth(line) <= width || isWhole(plain) {
		return line
	}
	head := lineHead.FindString(plain)
	comment := ""
	if strings.HasPrefix(head, "# ") {
		comment = "#"
	}
	indent := utf8.RuneCountInString(head)
	if strings.TrimLeft(head, "# ") == "" {
		indent += 2
	}
	indent = min(indent, width/2)
	isNext := strings.HasSuffix(head, "next: ")
	return breakLine(line, width, comment+strings.Repeat(" ", indent-len(comment)),
		func(line string) (word, rest string) { return cutCommand(line, isNext) })
}

// wrapAt is wrapLine for a line whose text begins at a column: what follows a break begins there too. A terminal of
// unknown width, or below the narrowest, breaks nothing.
func wrapAt(line string, width, column int) []string {
	if width < narrowest || visibleWidth(line) <= width {
		return []string{line}
	}
	head := strings.Repeat(" ", min(column, width/2))
	return strings.Split(breakLine(line, width, head,
		func(line string) (word, rest string) { return cutCommand(line, false) }), "\n")
}

// WrapText breaks the paragraphs of a text into lines of a width, which begin with indent. Lines that begin with a space
// stay as they are.
func WrapText(text string, width int, indent string) string {
	var lines, words []string
	end := func() {
		if len(words) > 0 {
			lines, words = append(lines, breakLine(indent+strings.Join(words, " "), width, indent, cutWord)), nil
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		if line != "" && line[0] != ' ' {
			words = append(words, strings.Fields(line)...)
			continue
		}
		end()
		lines = append(lines, line)
	}
	end()
	return strings.Join(lines, "\n")
}

// breakLine breaks a line before a word that is beyond the width. What follows a break begins with head. cut returns the
// first word of a text, with the spaces before it, and the rest.
func breakLine(line string, width int, head string, cut func(string) (word, rest string)) string {
	var out strings.Builder
	column, indent := 0, len(head)
	for len(line) > 0 {
		word, rest := cut(line)
		wide := visibleWidth(word)
		if text := strings.TrimLeft(word, " "); column > indent && column+wide > width && text != "" {
			out.WriteString("\n" + head)
			wide -= len(word) - len(text)
			word, column = text, indent
		}
		out.WriteString(word)
		column += wide
		line = rest
	}
	return out.String()
}

// isWhole reports whether a line is never broken.
func isWhole(line string) bool {
	return strings.HasPrefix(strings.TrimLeft(line, " "), "{") || strings.HasPrefix(line, "export ")
}

// cutWord returns the first word of a line with the spaces before it, and the rest.
func cutWord(line string) (word, rest string) {
	start := len(line) - len(strings.TrimLeft(line, " "))
	if end := strings.IndexByte(line[start:], ' '); end >= 0 {
		return line[:start+end], line[start+end:]
	}
	return line, ""
}

// sluiceCommand matches a command of sluice with its flags, IDs, services and folders at the beginning of a text,
// quotedCommand one in backquotes, and otherCommand the first word of another program.
var (
	quotedCommand = regexp.MustCompile("^ *`[^`]*`")
	sluiceCommand = regexp.MustCompile(`^ *sluice [a-z]+(?: (?:--[a-z-]+(?:[= ][^ ,;]+)?|slc-[0-9a-z]+|[^ ,;]*/[^ ,;]*))*[,;.]?`)
	otherCommand  = regexp.MustCompile(`^ *(?:aws|git) [a-z]`)
)

// cutCommand is cutWord, but a command of sluice is one word. In a next step that of another program is one too, which
// ends with the sentence.
func cutCommand(line string, isNext bool) (word, rest string) {
	for _, form := range []*regexp.Regexp{quotedCommand, sluiceCommand} {
		if command := form.FindString(line); command != "" {
			return command, line[len(command):]
		}
	}
	if !isNext || !otherCommand.MatchString(line) {
		return cutWord(line)
	}
	end := len(line)
	for _, sign := range []string{". ", "; "} {
		if i := strings.Index(line, sign); i >= 0 {
			end = min(end, i+1)
		}
	}
	return line[:end], line[end:]
}
