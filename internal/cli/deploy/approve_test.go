package deploy

import (
	"bytes"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// approval is a terminal and a journal with one deployment, whose first stage has a gate and no time, and whose
// second stage needs the approval of ana and ben.
type approval struct {
	program *program
	journal *journal.Journal
	clock   *clock.Virtual
	out     bytes.Buffer
}

func newApproval(t *testing.T) *approval {
	t.Helper()
	a := &approval{}
	c := clock.NewVirtual(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	a.clock = c
	dir := t.TempDir()
	var err error
	a.journal, err = journal.Open(filepath.Join(dir, "journal.sqlite"), c)
	failOn(t, err)
	t.Cleanup(func() { a.journal.Close() })
	saved, err := json.Marshal(&plan.Plan{Cluster: "prod", Service: "web", Stages: []plan.Stage{
		{Index: 0, Name: appfile.StageAnalysis, Gates: []appfile.Gate{{}}},
		{Index: 1, Name: appfile.StageApproval, Approvals: 2, Approvers: []string{"ana", "ben"}}}})
	failOn(t, err)
	failOn(t, a.journal.CreateDeployment(t.Context(), journal.Deployment{ID: "slc-1", Account: "123456789012",
		Region: "us-east-1", Cluster: "prod", Service: "web", Plan: saved}))
	s := &session.Session{Env: session.Env{Out: &a.out, Err: &a.out, Clock: c, OpenJournal: journal.Open, StateDir: dir,
		Getenv: func(string) string { return "" }, IsTerminal: func(io.Writer) bool { return false }}}
	s.Flags.Output = session.Text
	a.program = &program{Session: s}
	return a
}

func failOn(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Nobody approves a stage before it waits, which shows what the approval is about. Only approvers of the file approve, each
// of them once. The journal has each approval.
func TestApprove(t *testing.T) {
	a := newApproval(t)
	if err := a.program.runApprove(t.Context(), "slc-1", true, 0, "ana"); err == nil ||
		!strings.Contains(err.Error(), "stage 2 does not wait yet") {
		t.Errorf("before the stage waits: %v", err)
	}
	_, err := a.journal.BeginStage(t.Context(), "slc-1", 1, "WAIT_APPROVAL")
	failOn(t, err)
	for _, c := range []struct {
		by    string
		stage int
		want  string
	}{
		{"eve", 0, "eve is not an approver of this stage (ana, ben)"},
		{"ana", 1, "stage 1 does not wait for approval"},
		{"ana", 0, "approved: stage 2 WAIT_APPROVAL of slc-1 by ana; needs 1 more approval\n"},
		{"ana", 0, "ana has already approved the stage"},
		{"ben", 2, "approved: stage 2 WAIT_APPROVAL of slc-1 by ben\nnext: run sluice resume slc-1 to continue"},
	} {
		a.out.Reset()
		err := a.program.runApprove(t.Context(), "slc-1", true, c.stage, c.by)
		got := a.out.String()
		if err != nil {
			got += err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s, stage %d: %s\nwant %s", c.by, c.stage, got, c.want)
		}
	}
	commands, err := a.journal.Commands(t.Context(), "slc-1", 0)
	failOn(t, err)
	var approved []string
	for _, c := range commands {
		approved = append(approved, string(c.Kind)+" "+c.Stage+" "+c.By)
	}
	if got := strings.Join(approved, ", "); got != "approve 1 ana, approve 1 ben" {
		t.Errorf("the journal has %s", got)
	}
	failOn(t, a.journal.EndDeployment(t.Context(), "slc-1", "succeeded", "", ""))
	if err := a.program.runApprove(t.Context(), "slc-1", true, 0, "ana"); err == nil ||
		!strings.Contains(err.Error(), "the deployment has ended: succeeded") {
		t.Errorf("an ended deployment: %v", err)
	}
}

// A gate is approved only after it has asked, by any person once; an earlier approval does not count.
func TestApproveGate(t *testing.T) {
	a := newApproval(t)
	_, err := a.journal.BeginStage(t.Context(), "slc-1", 0, "ANALYSIS")
	failOn(t, err)
	_, err = a.journal.AddCommand(t.Context(), journal.Command{Deployment: "slc-1", Kind: journal.Approve, Stage: "0",
		By: "eve"})
	failOn(t, err)
	approve := func(stage int, want string) {
		t.Helper()
		a.out.Reset()
		got := ""
		if err := a.program.runApprove(t.Context(), "slc-1", true, stage, "eve"); err != nil {
			got = err.Error() + "; next: " + sluice.NextStep(err)
		}
		if got += a.out.String(); !strings.Contains(got, want) {
			t.Errorf("stage %d: approve printed %q, want %q", stage, got, want)
		}
	}
	refused := "stage 1 ANALYSIS has not asked: no process has judged its gates to the end; next: run sluice resume " +
		"slc-1, which judges the gates"
	approve(0, refused)
	approve(1, refused)
	a.clock.Run(func() { failOn(t, a.clock.Sleep(t.Context(), time.Second)) })
	_, err = a.journal.AppendEvent(t.Context(), sluice.Seal("slc-1", "1 ANALYSIS",
		sluice.ApprovalAwaited{Index: 0, Missing: 1, Undecided: "errors"}))
	failOn(t, err)
	approve(0, "approved: stage 1 ANALYSIS of slc-1 by eve\nnext: run sluice resume slc-1")
	approve(0, "eve has already approved the stage")
}
