package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/clock"
)

// redrawInterval is the time between two updates of the progress view, in the machine's time.
const redraw = 250 * time.Millisecond

// progressView renders the board in place, below what the terminal shows already. The last state
// stays on the screen. The view writes text, colors and cursor moves, and it reads no input. It
// sends no queries, because a terminal answers them on the input, and Ctrl-C must stay a signal.
type live struct {
	mu    sync.Mutex
	w     io.Writer
	paint paint
	board *board
	clock clock.Clock
	size  func() (width, height int)
	drawn int // lines on the screen
	stop  chan struct{}
	done  chan struct{}
}

func newLive(w io.Writer, p paint, b *board, c clock.Clock, size func() (int, int)) *live {
	l := &live{w: w, paint: p, board: b, clock: c, size: size, stop: make(chan struct{}), done: make(chan struct{})}
	go l.tick()
	return l
}

func (l *live) tick() {
	defer close(l.done)
	t := time.NewTicker(redraw)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			l.mu.Lock()
			l.draw()
			l.mu.Unlock()
		case <-l.stop:
			return
		}
	}
}

func (l *live) event(e sluice.Envelope) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.board.see(e)
	switch ev := e.Open().(type) {
	case sluice.DeploymentStarted, sluice.Warned, sluice.RollbackStarted, sluice.TaskEnded, sluice.Printed:
		l.above(colored(l.paint, say(e)))
	case sluice.StageEnded:
		if ev.Status == "failed" {
			l.above(colored(l.paint, line{failure, fmt.Sprintf("%d %s: %s", ev.Index+1, ev.Name, ev.Cause)}))
		}
	}
	l.draw()
}

// writeAbove writes a line that stays above the board.
func (l *live) above(s string) {
	fmt.Fprint(l.w, l.erase()+s+"\n")
}

// eraseBoard returns the codes that erase the board from the screen.
func (l *live) erase() string {
	up := l.paint.erase(l.drawn)
	l.drawn = 0
	return up
}

func (l *live) draw() {
	if l.board.began.IsZero() {
		return
	}
	width, height := l.size()
	rows := l.board.view(l.clock.Now(), width, height, l.paint)
	fmt.Fprint(l.w, l.erase()+strings.Join(rows, "\n")+"\n")
	l.drawn = len(rows)
}

func (l *live) recall(e sluice.Envelope) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.board.see(e)
}

func (l *live) note(s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.above(s)
	l.draw()
}

func (l *live) close() {
	close(l.stop)
	<-l.done
	l.mu.Lock()
	defer l.mu.Unlock()
	l.draw()
}
