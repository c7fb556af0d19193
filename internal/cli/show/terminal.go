package show

import (
	"io"

	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// Terminal is what a command writes to, and in which form.
type Terminal struct {
	Out, Err           io.Writer // results; progress and errors
	OutPaint, ErrPaint Paint
	JSON               bool                       // events are JSON Lines on Out
	CI                 CI                         // whose log Err is
	Next               func(string) string        // adds this command line's flags to a next step; nil: unchanged
	stream             *JSONLines                 // nil: a new one for each deployment
	board              *severalBoard              // of several deployments on one terminal; nil: each has its own
	entry              int                        // of this application, on board
	Size               func() (width, height int) // of the terminal Err; nil: Err is no terminal
}

// NewRenderer returns the renderer for the events of a deployment: JSON Lines with --output json,
// a progress view on a terminal, and one line per change otherwise.
func (t Terminal) NewRenderer(pl *plan.Plan, c clock.Clock) Renderer {
	t.ErrPaint = t.ErrPaint.WithNames(pl)
	switch {
	case t.JSON:
		return t.NewJSONLines(pl.Application)
	case t.board != nil:
		return t.board.newRenderer(t.entry, pl)
	case !pl.Mode().HasService():
		return newLiveLines(&lineRenderer{w: t.Err, out: t.Out, paint: t.ErrPaint, ci: t.CI, next: t.Next})
	case t.Size != nil && t.CI == NoCI:
		return newProgressView(t.Err, t.ErrPaint, NewBoard(pl), c, t.Size)
	}
	return newLiveLines(&lineRenderer{w: t.Err, paint: t.ErrPaint, ci: t.CI, next: t.Next})
}

// NewJSONLines returns a writer of the events of an application in JSON.
func (t Terminal) NewJSONLines(application string) *JSONLines {
	if t.stream != nil {
		return t.stream
	}
	return NewJSONLines(t.Out, t.Err).Of(application)
}

// NewHistoryRenderer returns the renderer for the events of an earlier run: lines on Out.
func (t Terminal) NewHistoryRenderer(application string) Renderer {
	if t.JSON {
		return t.NewJSONLines(application)
	}
	return &lineRenderer{w: t.Out, paint: t.OutPaint}
}
