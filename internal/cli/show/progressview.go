package show

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
const redrawInterval = 250 * time.Millisecond

// progressView renders the board in place, below what the terminal shows already. The last state
// stays on the screen. The view writes text, colors and cursor moves, and it reads no input. It
// sends no queries, because a terminal answers them on the input, and Ctrl-C must stay a signal.
type progressView struct {
	mu            sync.Mutex
	w             io.Writer
	paint         Paint
	board         *Board
	clock         clock.Clock
	size          func() (width, height int)
	renderedLines int // lines on the screen
	causes        causeMemory
	stop          chan struct{}
	done          chan struct{}
}

func newProgressView(w io.Writer, p Paint, b *Board, c clock.Clock, size func() (int, int)) *progressView {
	l := &progressView{w: w, paint: p, board: b, clock: c, size: size, stop: make(chan struct{}),
		done: make(chan struct{})}
	go l.redrawLoop()
	return l
}

func (l *progressView) redrawLoop() {
	defer close(l.done)
	t := time.NewTicker(redrawInterval)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			l.mu.Lock()
			l.renderBoard()
			l.mu.Unlock()
		case <-l.stop:
			return
		}
	}
}

func (l *progressView) ShowEvent(e sluice.Envelope) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.board.ApplyEvent(e)
	words := l.causes.shorten(e.Open(), eventLine(e))
	switch ev := e.Open().(type) {
	case sluice.DeploymentStarted, sluice.Warned, sluice.RollbackStarted, sluice.TaskEnded, sluice.Printed,
		sluice.Adopted:
		l.writeAbove(colorLine(l.paint, words))
	case sluice.StageEnded:
		if ev.Status == "failed" {
			l.writeAbove(colorLine(l.paint, line{failure, fmt.Sprintf("%d %s: %s", ev.Index+1, ev.Name, ev.Cause)}))
		}
	}
	l.renderBoard()
}

// writeAbove writes a line that stays above the board.
func (l *progressView) writeAbove(s string) {
	fmt.Fprint(l.w, l.eraseBoard()+s+"\n")
}

// eraseBoard returns the codes that erase the board from the screen.
func (l *progressView) eraseBoard() string {
	up := l.paint.EraseRows(l.renderedLines)
	l.renderedLines = 0
	return up
}

func (l *progressView) renderBoard() {
	if l.board.began.IsZero() {
		return
	}
	width, height := l.size()
	rows := l.board.renderLines(l.clock.Now(), width, height, l.paint)
	fmt.Fprint(l.w, l.eraseBoard()+strings.Join(rows, "\n")+"\n")
	l.renderedLines = len(rows)
}

func (l *progressView) ReplayEvent(e sluice.Envelope) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.board.ApplyEvent(e)
}

func (l *progressView) ShowNote(s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writeAbove(s)
	l.renderBoard()
}

func (l *progressView) Close() {
	close(l.stop)
	<-l.done
	l.mu.Lock()
	defer l.mu.Unlock()
	l.renderBoard()
}
