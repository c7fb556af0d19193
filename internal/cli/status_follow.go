package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/journal"
)

// statusInterval is the time between two reads of a watched status.
const statusInterval = 2 * time.Second

// statusScreen shows a status in place on a terminal. Elsewhere it prints the status again after
// each change.
type statusScreen struct {
	program      *program
	lastText     string
	renderedRows int // lines on the terminal
}

// watchStatus shows the status until the running deployment has ended. If none runs, it shows the
// status until Ctrl-C.
func (p *program) watchStatus(ctx context.Context, j *journal.Journal, path string, given bool, events int) error {
	c, _, err := p.openClock()
	if err != nil {
		return err
	}
	s, ran := &statusScreen{program: p}, false
	for {
		t, err := p.readStatus(ctx, j, path, given, events)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && !isTransient(err):
			return err
		case err != nil:
			fmt.Fprintln(p.env.Err, "not read: "+err.Error())
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
func (t *serviceReport) isDeploying() bool {
	return t.Deployment != nil && t.Deployment.Runner != "" || t.isAWSDeploying()
}

func (s *statusScreen) showStatus(t *serviceReport, now time.Time) error {
	out := s.program.env.Out
	var b bytes.Buffer
	if s.program.flags.output == jsonOut {
		if err := json.NewEncoder(&b).Encode(t); err != nil {
			return err
		}
	} else if err := (serviceView{newPaint(s.program.env, out)}).writeService(&b, t); err != nil {
		return err
	}
	if b.String() == s.lastText {
		return nil
	}
	s.lastText = b.String()
	switch {
	case s.program.flags.output == jsonOut:
	case s.program.env.IsTerminal(out):
		return s.redrawRows(b.String())
	default:
		if _, err := fmt.Fprintln(out, "--- "+formatTime(now)); err != nil {
			return err
		}
	}
	_, err := out.Write(b.Bytes())
	return err
}

// redrawRows overwrites the rows of the last call. It cuts wide lines and drops surplus rows, because
// wrapped or scrolled rows could not be erased.
func (s *statusScreen) redrawRows(text string) error {
	width, height := s.program.env.Size(s.program.env.Out)
	rows := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if height > 1 && len(rows) > height-1 {
		rows = rows[:height-1]
	}
	for i := range rows {
		rows[i] = s.program.paint.clipLine(rows[i], width)
	}
	up := s.program.paint.eraseRows(s.renderedRows)
	s.renderedRows = len(rows)
	_, err := fmt.Fprint(s.program.env.Out, up+strings.Join(rows, "\n")+"\n")
	return err
}
