package printable

import (
	"encoding/hex"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/sluice-ecs/sluice/internal/secret"
)

// CodePrefix precedes each code that sluice itself writes: the colours and cursor moves of a
// terminal, and commands of a CI system. It is random for each run, so text from elsewhere cannot
// contain it. With the empty prefix a [Writer] passes no codes.
type CodePrefix string

// NewCodePrefix generates a prefix.
func NewCodePrefix(random io.Reader) (CodePrefix, error) {
	var b [8]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", err
	}
	return CodePrefix("\x1b" + hex.EncodeToString(b[:])), nil
}

// Code returns the escape sequence, which begins with `[`, in the form that a [Writer] passes.
func (m CodePrefix) Code(sequence string) string {
	if m == "" {
		return "\x1b" + sequence
	}
	return string(m) + sequence
}

// Raw returns a text of one or two characters, such as `::`, in the form that a [Writer] passes.
func (m CodePrefix) Raw(text string) string { return string(m) + text }

// Line returns a text as one line, as [Line] does, but keeps the codes with the prefix. Without a
// prefix it returns the text unchanged.
func (m CodePrefix) Line(text string) string {
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

// Writer writes its input as [Text] would return it, and passes the codes after its prefix.
type Writer struct {
	to      io.Writer
	prefix  CodePrefix
	maxLine int // characters of a line; 0: no limit
	known   *secret.Known

	mu      sync.Mutex
	cleaner cleaner
	pending string // the beginning of a prefix or of a character
}

// NewWriter returns a writer to another writer. It cuts lines after longest characters, if that is
// above 0.
func NewWriter(to io.Writer, mark CodePrefix, longest int) *Writer {
	return &Writer{to: to, prefix: mark, maxLine: longest, cleaner: cleaner{isLineStart: true}}
}

// HideKnown makes the writer mask values that are known to be secret, in addition to text that looks like a secret.
func (w *Writer) HideKnown(known *secret.Known) *Writer {
	w.known = known
	return w
}

// Unwrap returns the underlying writer.
func (w *Writer) Unwrap() io.Writer { return w.to }

// Write is [io.Writer].
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := w.pending + string(p)
	text, w.pending = w.splitPending(text)
	for text != "" {
		before, after, found := w.cutPrefix(text)
		w.cleaner.writeText(secret.Mask(w.known.Mask(w.clipLines(before))))
		if text = after; found {
			text = w.passCode(after)
		}
	}
	_, err := io.WriteString(w.to, w.cleaner.out.String())
	w.cleaner.out.Reset()
	return len(p), err
}

func (w *Writer) cutPrefix(text string) (before, after string, found bool) {
	if w.prefix == "" {
		return text, "", false
	}
	return strings.Cut(text, string(w.prefix))
}

// passCode writes the code that follows a prefix, and returns the text after the code.
func (w *Writer) passCode(text string) string {
	n := codeLength(text)
	switch {
	case strings.HasPrefix(text, "["):
		w.cleaner.out.WriteByte('\x1b')
	case strings.HasPrefix(text, "::"):
		w.cleaner.isLineStart = false
	}
	w.cleaner.out.WriteString(text[:n])
	return text[n:]
}

// codeLength returns how many bytes of a text its leading code has.
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

// splitPending separates an incomplete prefix or character at the end of a text.
func (w *Writer) splitPending(text string) (now, later string) {
	for n := min(len(w.prefix)-1, len(text)); n > 0; n-- {
		if strings.HasSuffix(text, string(w.prefix[:n])) {
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
	if w.maxLine <= 0 || len(text) <= w.maxLine {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		body := strings.TrimSuffix(line, "\n")
		b.WriteString(Clip(body, w.maxLine))
		b.WriteString(line[len(body):])
	}
	return b.String()
}
