package show

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/eventtest"
)

// Reasons why a front end shows nothing for an event.
const (
	resultFollows = "silent: the event wrote follows and has the result"
	boardIsState  = "silent: the board shows the state, and the log of sluice history shows this event"
	notOfWait     = "silent: sluice wait does not run the deployment and does not emit this event"
)

// Every kind of event has words in every output of the command line.
func TestEveryEventHasWords(t *testing.T) {
	unwritten := map[string]string{"writing": resultFollows}
	eventtest.Run(t,
		eventtest.FrontEnd{Name: "lines", Show: linesOutput(lineRenderer{}), Silent: unwritten},
		eventtest.FrontEnd{Name: "lines of sluice run", Show: runOutput, Silent: unwritten},
		eventtest.FrontEnd{Name: "GitHub Actions", Show: linesOutput(lineRenderer{ci: GitHub}), Silent: unwritten},
		eventtest.FrontEnd{Name: "JSON lines", Show: jsonOutput},
		eventtest.FrontEnd{Name: "board", Show: boardOutput, Silent: map[string]string{
			"deploymentResumed": boardIsState,
			"lifecycleChanged":  boardIsState,
			"taskChanged":       boardIsState,
		}},
		eventtest.FrontEnd{Name: "wait", Show: waitOutput, Silent: map[string]string{
			"adopted":           notOfWait,
			"approvalAwaited":   notOfWait,
			"approved":          notOfWait,
			"gateRead":          notOfWait,
			"capacityChanged":   notOfWait,
			"deploymentEnded":   "silent: printResults prints the outcome of each service",
			"deploymentPaused":  notOfWait,
			"deploymentResumed": notOfWait,
			"deploymentStarted": notOfWait,
			"printed":           notOfWait,
			"requestsCounted":   notOfWait,
			"rollbackStarted":   notOfWait,
			"stageEnded":        notOfWait,
			"stageStarted":      notOfWait,
			"taskChanged":       notOfWait,
			"taskEnded":         notOfWait,
			"trafficShifted":    notOfWait,
			"unanswered":        notOfWait,
			"writing":           notOfWait,
			"wrote":             notOfWait,
		}})
}

func linesOutput(r lineRenderer) func(*testing.T, sluice.Envelope) string {
	return func(_ *testing.T, e sluice.Envelope) string {
		var b bytes.Buffer
		l := r
		l.w = &b
		l.ShowEvent(e)
		return b.String()
	}
}

// runOutput returns the output of sluice run: what the task prints, and the events.
func runOutput(_ *testing.T, e sluice.Envelope) string {
	var events, printed bytes.Buffer
	l := lineRenderer{w: &events, out: &printed}
	l.ShowEvent(e)
	return events.String() + printed.String()
}

// jsonOutput returns the line of an event, and fails if it is not the whole event.
func jsonOutput(t *testing.T, e sluice.Envelope) string {
	var b bytes.Buffer
	j := NewJSONLines(&b, io.Discard)
	j.ShowEvent(e)
	return eventtest.LastEnvelope(t, b.String(), e)
}

// boardOutput returns the lines of the progress view that an event adds, changes or removes in the
// middle of a deployment.
func boardOutput(_ *testing.T, e sluice.Envelope) string {
	s := &screen{}
	b := NewBoard(canaryPlan())
	l := &progressView{board: b, area: &liveArea{w: s, size: func() (int, int) { return 200, 50 },
		render: func(width, height int) []string { return b.renderLines(e.At, width, height, Paint{}) }}}
	for _, ev := range []sluice.Event{
		sluice.DeploymentStarted{Cluster: "prod", Service: "web"},
		sluice.StageStarted{Index: 0, Name: appfile.StageCanaryRollout, Attempt: 1},
		sluice.Waiting{For: "2 tasks"},
	} {
		sealed := sluice.Seal(e.Deployment, "", ev)
		sealed.At = e.At
		l.ShowEvent(sealed)
	}
	before := slices.Clone(s.rows)
	l.ShowEvent(e)
	return strings.Join(append(rowsWithout(s.rows, before), rowsWithout(before, s.rows)...), "\n")
}

// rowsWithout returns the rows that others does not contain.
func rowsWithout(rows, others []string) []string {
	return slices.DeleteFunc(slices.Clone(rows), func(row string) bool { return slices.Contains(others, row) })
}

func waitOutput(_ *testing.T, e sluice.Envelope) string { return waitLine(e.Open()).text }
