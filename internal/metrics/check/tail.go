package check

import (
	"bytes"
	"strings"
	"sync"

	"github.com/sluice-ecs/sluice/internal/printable"
)

const (
	// maxKept is how many bytes of a command's output are kept and searched for secrets.
	maxKept = 64_000
	// maxTailLines and maxTail are how many lines and characters of them are shown.
	maxTailLines = 20
	maxTail      = 2_000
)

// tailWriter keeps the end of what is written.
type tailWriter struct {
	mu    sync.Mutex
	kept  []byte
	isCut bool
}

// Write keeps the last bytes of everything that was written.
func (t *tailWriter) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if extra := len(t.kept) - maxKept; extra > 0 {
		t.kept, t.isCut = append(t.kept[:0], t.kept[extra:]...), true
	}
	return len(p), nil
}

// text returns the last lines, printable. The first line that was kept may be the rest of one, and
// then half of a secret, so it is dropped.
func (t *tailWriter) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := t.kept
	if t.isCut {
		_, kept, _ = bytes.Cut(kept, []byte("\n"))
	}
	text := strings.TrimRight(printable.Text(string(kept)), "\n")
	lines := strings.Split(text, "\n")
	lines = lines[max(0, len(lines)-maxTailLines):]
	runes := []rune(strings.Join(lines, "\n"))
	return string(runes[max(0, len(runes)-maxTail):])
}
