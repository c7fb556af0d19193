package inspect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/cli/show"
	"github.com/sluice-ecs/sluice/internal/journal"
)

// statusInterval is the time between two reads of a watched status.
const statusInterval = 2 * time.Second

// statusScreen shows a status in place on a terminal. Elsewhere it prints the status again after
// each change.
type statusScreen struct {
	session      *session.Session
	lastText     string
	renderedRows int // on the terminal
}

// watchStatus shows the status until the running deployment has ended. If none runs, it shows the
// status until Ctrl-C.
func (p *program) watchStatus(ctx context.Context, j *journal.Journal, path string, given bool, events int) error {
	c, _, err := p.OpenClock()
	if err != nil {
		return err
	}
	s, ran := &statusScreen{session: p.Session}, false
	for {
		t, err := p.readStatus(ctx, j, path, given, events)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && !isTransient(err):
			return err
		case err != nil:
			fmt.Fprintln(p.Env.Err, "not read: "+err.Error())
		default:
			if err := s.showStatus(t, c.Now()); err != nil {
				return err
			}
			if ran && !t.isDeploying() {
				return nil
			}
			ran = ran || t.isDeploying()
		}
		if c.Sleep(ctx, statusInterval) != nil {
			return nil
		}
	}
}

// isTransient reports whether a repeated read may succeed.
func isTransient(err error) bool {
	return sluice.KindOf(err) == sluice.Throttled || errors.Is(err, sluice.ErrUnanswered)
}

// isDeploying reports whether sluice or AWS runs a deployment of the service.
func (t *ServiceReport) isDeploying() bool {
	return t.Deployment != nil && t.Deployment.Runner != "" || t.isAWSDeploying()
}

func (s *statusScreen) showStatus(t *ServiceReport, now time.Time) error {
	out := s.session.Env.Out
	var b bytes.Buffer
	if s.session.Flags.Output == session.JSON {
		if err := show.WriteJSON(&b, t); err != nil {
			return err
		}
	} else if err := t.writeText(&b, s.session.PaintFor(out), s.session.NextStep); err != nil {
		return err
	}
	if b.String() == s.lastText {
		return nil
	}
	s.lastText = b.String()
	switch {
	case s.session.Flags.Output == session.JSON:
	case s.session.Env.IsTerminal(out):
		return s.redrawRows(b.String())
	default:
		if _, err := fmt.Fprintln(out, "--- "+show.FormatTime(now)); err != nil {
			return err
		}
	}
	_, err := out.Write(b.Bytes())
	return err
}

// redrawRows overwrites the rows of the last call. It drops surplus rows, because scrolled rows could not be erased.
func (s *statusScreen) redrawRows(text string) error {
	width, height := s.session.Env.Size(s.session.Env.Out)
	lines, rows := show.FitLines(text, width, height)
	for i := range lines {
		lines[i] = s.session.Paint.OneLine(lines[i])
	}
	up := s.session.Paint.EraseRows(s.renderedRows)
	s.renderedRows = rows
	_, err := fmt.Fprint(s.session.Env.Out, up+strings.Join(lines, "\n")+"\n")
	return err
}
