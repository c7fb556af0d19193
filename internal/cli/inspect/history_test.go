package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/eventtest"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// Every kind of event has words in the history, as text and as JSON.
func TestHistoryHasWordsForEveryEvent(t *testing.T) {
	eventtest.Run(t,
		eventtest.FrontEnd{Name: "history", Show: historyOutput(session.Text), Silent: map[string]string{
			"writing": "silent: the event wrote follows and has the result"}},
		eventtest.FrontEnd{Name: "history as JSON", Show: historyOutput(session.JSON)})
}

// A deployment that only removes leftovers deploys no version: the list has the one that serves, not that of the files.
func TestHistoryOfCleanUpNamesNoImageOfFiles(t *testing.T) {
	ctx := context.Background()
	j, err := journal.Open(journal.Memory, clock.NewVirtual(time.Unix(0, 0)))
	failOn(t, err)
	defer j.Close()
	pl, err := json.Marshal(plan.Plan{From: "web:1", To: "web:2", Stages: []plan.Stage{{Name: appfile.StageAdopt}},
		Task: json.RawMessage(`{"containerDefinitions":[{"name":"web","image":"sim/web:v2"}]}`)})
	failOn(t, err)
	e, err := newHistoryEntry(ctx, j, journal.Deployment{ID: "slc-1", Plan: pl})
	failOn(t, err)
	if e.image != "-" || len(e.Images) > 0 || e.Revision != "web:1" {
		t.Errorf("a clean-up beside web:1 is listed as revision %q with the image %q, want web:1 and none", e.Revision, e.image)
	}
}

// historyOutput returns the output of sluice history for a journal with one event.
func historyOutput(output session.OutputFormat) func(*testing.T, sluice.Envelope) string {
	return func(t *testing.T, e sluice.Envelope) string {
		ctx := context.Background()
		j, err := journal.Open(journal.Memory, clock.NewVirtual(e.At))
		failOn(t, err)
		defer j.Close()
		failOn(t, j.CreateDeployment(ctx, journal.Deployment{ID: e.Deployment, Cluster: "prod", Service: "web"}))
		e, err = j.AppendEvent(ctx, e)
		failOn(t, err)
		var b bytes.Buffer
		p := &program{Session: &session.Session{Env: session.Env{Out: &b, Err: &b, Getenv: func(string) string { return "" },
			IsTerminal: func(io.Writer) bool { return false }}}}
		p.Flags.Output = output
		failOn(t, p.printEvents(ctx, j, e.Deployment))
		if output == session.JSON {
			return eventtest.LastEnvelope(t, b.String(), e)
		}
		return b.String()
	}
}

func failOn(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
