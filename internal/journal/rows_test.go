package journal_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/journal"
)

func equal(t *testing.T, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n\t%+v\nwant\n\t%+v", got, want)
	}
}

func TestLifeOfADeployment(t *testing.T) {
	j := inMemory(t)
	created(t, j, "d1")
	want := web("d1")
	want.State, want.Began, want.Updated = journal.Running, after(1), after(1)
	check := func() {
		t.Helper()
		got, err := j.Deployment(bg, "d1")
		must(t, err)
		equal(t, got, want)
	}
	check()

	must(t, j.SetState(bg, "d1", journal.Paused))
	want.State, want.Updated = journal.Paused, after(2)
	check()

	must(t, j.EndDeployment(bg, "d1", sluice.Failed, "2 of 2 tasks stopped", "look at the logs"))
	want.State, want.Outcome, want.Cause, want.Next = journal.Ended, sluice.Failed, "2 of 2 tasks stopped",
		"look at the logs"
	want.Updated, want.Ended = after(3), after(3)
	check()

	must(t, j.SetState(bg, "d1", journal.Running))
	want.State, want.Outcome, want.Cause, want.Next = journal.Running, "", "", ""
	want.Updated, want.Ended, want.Idle = after(4), time.Time{}, time.Second
	check()
}

func TestBeganMayBeGiven(t *testing.T) {
	j := inMemory(t)
	d := web("d1")
	d.State, d.Began = journal.Waiting, epoch.Add(-time.Hour).In(time.FixedZone("", 3600))
	must(t, j.CreateDeployment(bg, d))
	got, err := j.Deployment(bg, "d1")
	must(t, err)
	d.Began, d.Updated = epoch.Add(-time.Hour), after(1)
	equal(t, got, d)
}

func TestWhatDoesNotExistIsNotFound(t *testing.T) {
	j := inMemory(t)
	created(t, j, "d1")
	id := sluice.NewActionID("nobody", "0-sync", "create")
	for what, call := range map[string]func() error{
		"Deployment": func() error { _, err := j.Deployment(bg, "nobody"); return err },
		"Latest": func() error {
			_, err := j.LatestDeployment(bg, journal.Filter{Service: "other"})
			return err
		},
		"SetState":   func() error { return j.SetState(bg, "nobody", journal.Paused) },
		"End":        func() error { return j.EndDeployment(bg, "nobody", sluice.Failed, "", "") },
		"Save":       func() error { return j.Save(bg, "nobody", "k", nil) },
		"BeginStage": func() error { _, err := j.BeginStage(bg, "nobody", 0, "ECS_SYNC"); return err },
		"EndStage":   func() error { return j.EndStage(bg, "d1", 7, journal.StageDone, "", "") },
		"BeginAction": func() error {
			return j.BeginAction(bg, id, sluice.Write{Operation: "ecs:CreateTaskSet", Resource: "web"})
		},
		"EndAction": func() error { return j.EndAction(bg, id, "", "") },
		"Command": func() error {
			_, err := j.AddCommand(bg, journal.Command{Deployment: "nobody", Kind: journal.Abort})
			return err
		},
		"Append": func() error { _, err := j.AppendEvent(bg, sluice.Seal("nobody", "", sluice.Noted{})); return err },
	} {
		if err := call(); !errors.Is(err, journal.ErrNotFound) || sluice.KindOf(err) != sluice.NotFound {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestWrongInputIsRefused(t *testing.T) {
	j := inMemory(t)
	created(t, j, "d1")
	_, err := j.BeginStage(bg, "d1", 0, "ECS_SYNC")
	must(t, err)
	for want, call := range map[string]func() error{
		"the journal already has this entry":   func() error { return j.CreateDeployment(bg, web("d1")) },
		"must not be empty or contain a slash": func() error { return j.CreateDeployment(bg, web("a/b")) },
		"not one of running, waiting, paused":  func() error { return j.SetState(bg, "d1", journal.Ended) },
		"not one of done, failed, skipped": func() error {
			return j.EndStage(bg, "d1", 0, journal.StageRunning, "",
				"")
		},
		"the ID has no deployment": func() error { return j.BeginAction(bg, "create", sluice.Write{}) },
		"the owner has no name": func() error {
			_,
				err := j.Acquire(bg, "r", "", time.Minute)
			return err
		},
		"began as ECS_SYNC; a plan does not": func() error {
			_,
				err := j.BeginStage(bg, "d1", 0, "WAIT")
			return err
		},
		"not one of approve, pause, abort, rollb": func() error {
			_,
				err := j.AddCommand(bg, journal.Command{Deployment: "d1"})
			return err
		},
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	if err := j.CreateDeployment(bg, web("d1")); !errors.Is(err, journal.ErrExists) {
		t.Errorf("a second Create: %v", err)
	}
	stages, err := j.Stages(bg, "d1")
	must(t, err)
	if len(stages) != 1 || stages[0].Attempts != 1 {
		t.Errorf("a refused begin left its trace: %+v", stages)
	}
}

func TestDeploymentsNewestFirst(t *testing.T) {
	j := inMemory(t)
	created(t, j, "z", "y", "x")
	other := web("other")
	other.Service, other.Region = "api", "us-east-1"
	must(t, j.CreateDeployment(bg, other))
	must(t, j.EndDeployment(bg, "x", sluice.Succeeded, "", ""))
	for _, c := range []struct {
		filter journal.Filter
		want   string
	}{
		{journal.Filter{}, "other x y z"},
		{journal.Filter{Limit: 2}, "other x"},
		{journal.Filter{Service: "web"}, "x y z"},
		{journal.Filter{Region: "us-east-1"}, "other"},
		{journal.Filter{Cluster: "prod", Account: "123456789012"}, "other x y z"},
		{journal.Filter{Account: "000000000000"}, ""},
		{journal.Filter{Service: "web", Open: true}, "y z"},
		{journal.Filter{Service: "web", Open: true, Limit: 1}, "y"},
	} {
		list, err := j.Deployments(bg, c.filter)
		must(t, err)
		var ids []string
		for _, d := range list {
			ids = append(ids, d.ID)
		}
		if got := strings.Join(ids, " "); got != c.want {
			t.Errorf("%+v: %q, want %q", c.filter, got, c.want)
		}
	}
	latest, err := j.LatestDeployment(bg, journal.Filter{Account: "123456789012", Region: "eu-west-1", Cluster: "prod",
		Service: "web"})
	must(t, err)
	if latest.ID != "x" {
		t.Errorf("the latest is %s", latest.ID)
	}
}

func TestStageBegunAgainKeepsItsBegin(t *testing.T) {
	j := inMemory(t)
	created(t, j, "d1", "d2")
	s, err := j.BeginStage(bg, "d1", 1, "WAIT")
	must(t, err)
	want := journal.Stage{Deployment: "d1", Index: 1, Name: "WAIT", Status: journal.StageRunning, Began: s.Began,
		Attempts: 1}
	equal(t, s, want)
	if !s.Began.After(epoch) {
		t.Errorf("began %v", s.Began)
	}

	must(t, j.EndStage(bg, "d1", 1, journal.StageFailed, "throttled for a minute", sluice.Throttled))
	s, err = j.BeginStage(bg, "d1", 1, "WAIT")
	must(t, err)
	want.Attempts = 2
	equal(t, s, want)

	must(t, j.EndStage(bg, "d1", 1, journal.StageDone, "", ""))
	_, err = j.BeginStage(bg, "d1", 0, "ECS_CANARY_ROLLOUT")
	must(t, err)
	stages, err := j.Stages(bg, "d1")
	must(t, err)
	if len(stages) != 2 || stages[0].Name != "ECS_CANARY_ROLLOUT" || stages[1].Status != journal.StageDone ||
		!stages[1].Ended.After(stages[1].Began) {
		t.Errorf("%+v", stages)
	}
	d, err := j.Deployment(bg, "d1")
	must(t, err)
	if !d.Updated.After(stages[1].Ended) {
		t.Errorf("updated %v, before its last stage began", d.Updated)
	}
}

func TestActionsAreEvidence(t *testing.T) {
	j := inMemory(t)
	created(t, j, "d1")
	create := sluice.NewActionID("d1", "0-ECS_CANARY_ROLLOUT", "create")
	shift := sluice.NewActionID("d1", "1-ECS_TRAFFIC_ROUTING", "shift")
	planned := sluice.Write{Operation: "ecs:CreateTaskSet", Resource: "prod/web"}
	modify := sluice.Write{Operation: "elasticloadbalancing:ModifyRule", Resource: "rule/1"}
	must(t, j.BeginAction(bg, shift, modify))
	must(t, j.BeginAction(bg, create, planned))
	must(t, j.BeginAction(bg, create, planned))
	must(t, j.EndAction(bg, create, "ecs-svc/1", ""))
	got, err := j.Actions(bg, "d1")
	must(t, err)
	equal(t, got, []journal.Action{
		{ID: shift, Write: modify, Began: after(2), Attempts: 1},
		{ID: create, Write: planned, Result: "ecs-svc/1", Began: after(3), Ended: after(5), Attempts: 2},
	})
}

func TestCommandsAfterTheLastRead(t *testing.T) {
	j := inMemory(t)
	created(t, j, "d1", "d2")
	send := func(deployment, kind string) int64 {
		seq, err := j.AddCommand(bg, journal.Command{Deployment: deployment, Kind: kind, Stage: "2", By: "ana"})
		must(t, err)
		return seq
	}
	first := send("d1", journal.Pause)
	send("d2", journal.Abort)
	last := send("d1", journal.Approve)
	got, err := j.Commands(bg, "d1", first)
	must(t, err)
	equal(t, got, []journal.Command{{Seq: last, Deployment: "d1", Kind: journal.Approve, Stage: "2", By: "ana",
		At: after(5)}})
	if got, err = j.Commands(bg, "d1", last); err != nil || got != nil {
		t.Errorf("after the last: %v, %v", got, err)
	}
}

func TestEventsComeBackAsTheyWere(t *testing.T) {
	j := inMemory(t)
	created(t, j, "d1", "d2")
	var want []sluice.Envelope
	for i, e := range []sluice.Envelope{
		sluice.Seal("d1", "", sluice.DeploymentStarted{Application: "web"}),
		{Schema: "sluice.events/9", Deployment: "d1", Stage: "3 NEW", Kind: "FromTheFuture",
			Data: []byte(`{"x":[1, 2]}`)},
		{Deployment: "d1", Kind: "Bare"},
	} {
		_, err := j.AppendEvent(bg, sluice.Seal("d2", "", sluice.Noted{}))
		must(t, err)
		got, err := j.AppendEvent(bg, e)
		must(t, err)
		e.Seq, e.At = int64(i+1), after(2*i+4)
		equal(t, got, e)
		want = append(want, e)
	}
	all, err := j.Events(bg, "d1", 0, 0)
	must(t, err)
	equal(t, all, want)
	middle, err := j.Events(bg, "d1", 1, 1)
	must(t, err)
	equal(t, middle, want[1:2])
}
