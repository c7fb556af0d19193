package printable

import (
	"encoding/hex"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/sluice-ecs/sluice/internal/secret"
)

// Mark precedes each code that sluice itself writes: the colours and cursor moves
// of a terminal, and commands of a CI system. Text from elsewhere cannot hold it: it
// is drawn at random for each run. The empty mark marks nothing.
type Mark string

// NewMark draws a mark.
func NewMark(random io.Reader) (Mark, error) {
	var b [8]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", err
	}
	return Mark("\x1b" + hex.EncodeToString(b[:])), nil
}

// Code is the escape sequence that begins with `[`, as a [Writer] lets it pass.
func (m Mark) Code(sequence string) string {
	if m == "" {
		return "\x1b" + sequence
	}
	return string(m) + sequence
}

// Raw is a text of one or two characters that a [Writer] lets pass, such as `::`.
func (m Mark) Raw(text string) string { return string(m) + text }

// Line is a text as one line, as [Line], but for the codes that carry the mark.
// Without a mark the text stays as it is.
func (m Mark) Line(text string) string {
	if m == "" {
		return text
	}
	pieces := strings.Split(text, string(m))
	for i, piece := range pieces {
		n := 0
		if i > 0 {
			n = codeLength(piece)
		}
		pieces[i] = piece[:n] + Line(piece[n:])
	}
	return strings.Join(pieces, string(m))
}

// Writer passes on what is written to it as [Text] would print it, and the codes
// behind its mark.
type Writer struct {
	to      io.Writer
	mark    Mark
	longest int // characters of a line; 0: any

	mu      sync.Mutex
	clean   cleaner
	pending string // the beginning of a mark or of a character
}

// NewWriter writes to another writer. Lines are cut after longest characters, if
// that is above 0.
func NewWriter(to io.Writer, mark Mark, longest int) *Writer {
	return &Writer{to: to, mark: mark, longest: longest, clean: cleaner{isLineStart: true}}
}

// Unwrap is the writer below.
func (w *Writer) Unwrap() io.Writer { return w.to }

// Write is [io.Writer].
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := w.pending + string(p)
	text, w.pending = w.split(text)
	for text != "" {
		before, after, found := w.cut(text)
		w.clean.write(secret.Mask(w.clipLines(before)))
		if text = after; found {
			text = w.pass(after)
		}
	}
	_, err := io.WriteString(w.to, w.clean.out.String())
	w.clean.out.Reset()
	return len(p), err
}

func (w *Writer) cut(text string) (before, after string, found bool) {
	if w.mark == "" {
		return text, "", false
	}
	return strings.Cut(text, string(w.mark))
}

// pass writes the code that follows a mark, and returns what comes after it.
func (w *Writer) pass(text string) string {
	n := codeLength(text)
	switch {
	case strings.HasPrefix(text, "["):
		w.clean.out.WriteByte('\x1b')
	case strings.HasPrefix(text, "::"):
		w.clean.isLineStart = false
	}
	w.clean.out.WriteString(text[:n])
	return text[n:]
}

// codeLength is how many bytes the code has that a text begins with.
func codeLength(text string) int {
	n := 1
	switch {
	case strings.HasPrefix(text, "["):
		n += 1 + strings.IndexFunc(text[1:], func(r rune) bool { return r >= '@' && r <= '~' })
	case strings.HasPrefix(text, "::"):
		n = 2
	}
	return min(n, len(text))
}

// split holds back the beginning of a mark or of a character at the end of a text.
func (w *Writer) split(text string) (now, later string) {
	for n := min(len(w.mark)-1, len(text)); n > 0; n-- {
		if strings.HasSuffix(text, string(w.mark[:n])) {
			return text[:len(text)-n], text[len(text)-n:]
		}
	}
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if tail := text[len(text)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRuneInString(tail) {
				return text[:len(text)-n], tail
			}
			break
		}
	}
	return text, ""
}

func (w *Writer) clipLines(text string) string {
	if w.longest <= 0 || len(text) <= w.longest {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		body := strings.TrimSuffix(line, "\n")
		b.WriteString(Clip(body, w.longest))
		b.WriteString(line[len(body):])
	}
	return b.String()
}
