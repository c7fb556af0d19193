package show

import (
	"fmt"
	"sync"
	"time"

	"github.com/sluice-ecs/sluice"
)

// firstSilence and longestSilence are how long a stage may show no change until a line says that it still runs, in the
// machine's time: the first one and, as each is twice as long as the one before, the longest. Systems for CI end a job
// whose log stays silent for 10 minutes.
const (
	firstSilence   = time.Minute
	longestSilence = 5 * time.Minute
)

// liveLines is a lineRenderer that also shows that a stage without a change still runs. It reads nothing.
type liveLines struct {
	mu      sync.Mutex
	lines   *lineRenderer
	changed time.Time     // when an event came
	shown   time.Time     // when the last line was due
	silence time.Duration // until the next line
	stop    chan struct{}
	done    chan struct{}
}

// newLiveLines starts the lines of a deployment. Close ends them.
func newLiveLines(l *lineRenderer) *liveLines {
	v := &liveLines{lines: l, stop: make(chan struct{}), done: make(chan struct{})}
	v.noteChange(time.Now())
	go v.watchSilence()
	return v
}

func (v *liveLines) watchSilence() {
	defer close(v.done)
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case now := <-t.C:
			v.showSilence(now)
		case <-v.stop:
			return
		}
	}
}

func (v *liveLines) noteChange(now time.Time) { v.changed, v.shown, v.silence = now, now, firstSilence }

// showSilence writes a line if the stage that runs has shown no change for long.
func (v *liveLines) showSilence(now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	l := v.lines
	if now.Sub(v.shown) < v.silence || l.current == "" {
		return
	}
	v.shown, v.silence = now, min(2*v.silence, longestSilence)
	quiet := now.Sub(v.changed).Round(time.Second)
	fmt.Fprintf(l.w, "%s   %s\n", l.paint.Dim(FormatElapsed(l.last.Add(quiet).Sub(l.began))),
		colorLine(l.paint, line{level: faint, text: "no change for " + FormatDuration(quiet) + ": " + l.current}))
}

// ShowEvent shows an event as lineRenderer does.
func (v *liveLines) ShowEvent(e sluice.Envelope) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.noteChange(time.Now())
	v.lines.ShowEvent(e)
}

// ReplayEvent takes an event of an earlier run.
func (v *liveLines) ReplayEvent(e sluice.Envelope) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.lines.ReplayEvent(e)
}

// ShowNote shows a line that is not an event.
func (v *liveLines) ShowNote(s string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.lines.ShowNote(s)
}

// Close ends the output.
func (v *liveLines) Close() {
	close(v.stop)
	<-v.done
	v.lines.Close()
}
