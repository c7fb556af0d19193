package show

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// redrawInterval is the time between two updates of a live area, in the machine's time.
const redrawInterval = 250 * time.Millisecond

// liveArea is the lowest part of a terminal, which is rendered in place. It writes text, colors and
// cursor moves, and it reads no input. It sends no queries, because a terminal answers them on the
// input, and Ctrl-C must stay a signal.
type liveArea struct {
	mu            sync.Mutex
	w             io.Writer
	paint         Paint
	size          func() (width, height int)
	render        func(width, height int) []string // no wider lines than the width; nil: nothing to show yet
	renderedLines int                              // lines on the screen
	stop          chan struct{}
	done          chan struct{}
}

// newLiveArea starts a live area. It calls render with the lock of update.
func newLiveArea(w io.Writer, p Paint, size func() (int, int), render func(width, height int) []string) *liveArea {
	a := &liveArea{w: w, paint: p, size: size, render: render, stop: make(chan struct{}), done: make(chan struct{})}
	go a.redrawLoop()
	return a
}

func (a *liveArea) redrawLoop() {
	defer close(a.done)
	t := time.NewTicker(redrawInterval)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			a.update(nil)
		case <-a.stop:
			return
		}
	}
}

// update calls change, which may be nil, and renders the area. The lines that change returns stay on
// the screen, above the area.
func (a *liveArea) update(change func() (above []string)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var above []string
	if change != nil {
		above = change()
	}
	width, height := a.size()
	rows := a.render(width, height)
	if len(above)+len(rows) == 0 {
		return
	}
	fmt.Fprint(a.w, a.eraseRows()+strings.Join(append(above, rows...), "\n")+"\n")
	a.renderedLines = len(rows)
}

// eraseRows returns the codes that erase the area from the screen.
func (a *liveArea) eraseRows() string {
	up := a.paint.EraseRows(a.renderedLines)
	a.renderedLines = 0
	return up
}

// close ends the area. If keep is set, its last state stays on the screen.
func (a *liveArea) close(keep bool) {
	close(a.stop)
	<-a.done
	if keep {
		a.update(nil)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	fmt.Fprint(a.w, a.eraseRows())
}
