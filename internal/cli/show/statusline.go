package show

import (
	"fmt"
	"sync"
	"time"

	"github.com/sluice-ecs/sluice"
)

// statusLineDelay is how long a command may take before its status line appears, in the machine's
// time.
const statusLineDelay = 500 * time.Millisecond

// StatusLine is one line at the bottom of a terminal that shows what a command waits for. It is
// removed when the command continues.
type StatusLine struct{ area *liveArea }

// NewStatusLine starts a status line with the text of a function, which is called a few times a
// second. It returns nil if progress is not shown on a terminal; a nil line does nothing.
func (t Terminal) NewStatusLine(text func(elapsed time.Duration) string) *StatusLine {
	if t.Size == nil || t.JSON || t.CI != NoCI {
		return nil
	}
	began := time.Now()
	return &StatusLine{newLiveArea(t.Err, t.ErrPaint, t.Size, func(width, _ int) []string {
		elapsed := time.Since(began)
		if elapsed < statusLineDelay {
			return nil
		}
		return []string{t.ErrPaint.ClipLine(t.ErrPaint.Dim(text(elapsed)), width)}
	})}
}

// ShowNote writes a line that stays above the status line.
func (l *StatusLine) ShowNote(s string) {
	l.area.update(func() []string { return []string{s} })
}

// Close removes the line.
func (l *StatusLine) Close() {
	if l != nil {
		l.area.close(false)
	}
}

// Calls are the calls to AWS that are in progress. The zero value has none.
type Calls struct {
	mu  sync.Mutex
	all []*call // in the order of their begin
}

type call struct {
	what  string
	began time.Time
}

// Begin adds a call. The returned function removes it.
func (c *Calls) Begin(operation, resource string) (end func()) {
	x := &call{what: operation, began: time.Now()}
	if resource != "" {
		x.what += " " + sluice.ARNNames(nil).Shorten(resource)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, x)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for i := range c.all {
			if c.all[i] == x {
				c.all = append(c.all[:i:i], c.all[i+1:]...)
				return
			}
		}
	}
}

// Text describes what a command waits for: for how long it has read AWS, and the oldest call in
// progress with its duration.
func (c *Calls) Text(elapsed time.Duration) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := "reading AWS " + FormatElapsed(elapsed)
	if len(c.all) == 0 {
		return text
	}
	return fmt.Sprintf("%s: %s, for %s", text, c.all[0].what, FormatElapsed(time.Since(c.all[0].began)))
}
