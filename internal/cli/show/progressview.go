package show

import (
	"fmt"
	"io"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/clock"
)

// progressView renders the board of a deployment in place, below what the terminal shows already.
// The last state stays on the screen.
type progressView struct {
	area   *liveArea
	board  *Board
	causes causeMemory
}

func newProgressView(w io.Writer, p Paint, b *Board, c clock.Clock, size func() (int, int)) *progressView {
	return &progressView{board: b, area: newLiveArea(w, p, size, func(width, height int) []string {
		if b.began.IsZero() {
			return nil
		}
		return b.renderLines(c.Now(), width, height, p)
	})}
}

func (l *progressView) ShowEvent(e sluice.Envelope) {
	l.area.update(func() []string {
		l.board.ApplyEvent(e)
		return linesAbove(l.area.paint, e, &l.causes)
	})
}

// linesAbove returns the lines of an event that stay above a board.
func linesAbove(p Paint, e sluice.Envelope, causes *causeMemory) []string {
	words := causes.shorten(e.Open(), eventLine(e))
	switch ev := e.Open().(type) {
	case sluice.DeploymentStarted, sluice.Warned, sluice.RollbackStarted, sluice.TaskEnded, sluice.Printed,
		sluice.Adopted:
		return []string{colorLine(p, words)}
	case sluice.StageEnded:
		if ev.Status == "failed" {
			return []string{colorLine(p, line{level: failure, text: fmt.Sprintf("%d %s: %s", ev.Index+1, ev.Name, ev.Cause)})}
		}
	}
	return nil
}

func (l *progressView) ReplayEvent(e sluice.Envelope) {
	l.area.mu.Lock()
	defer l.area.mu.Unlock()
	l.board.ApplyEvent(e)
}

func (l *progressView) ShowNote(s string) {
	l.area.update(func() []string { return []string{s} })
}

func (l *progressView) Close() { l.area.close(true) }
