package show

import (
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// boardMoment is an event and what the rows show after it.
type boardMoment struct {
	event sluice.Event
	shows string // rows, " | " between them; empty: not looked at
}

func capacity(v sluice.Variant, set, revision string, running, desired int) sluice.CapacityChanged {
	return sluice.CapacityChanged{Variant: v, TaskSet: set, Revision: revision, Running: running, Desired: desired,
		Healthy: running, Targets: running}
}

func leaving(set, revision string, running, draining int) sluice.CapacityChanged {
	return sluice.CapacityChanged{Variant: sluice.Leaving, TaskSet: set, Revision: revision, Running: running,
		Draining: draining}
}

func shifted(primary, canary int) sluice.TrafficShifted {
	return sluice.TrafficShifted{ToPrimary: primary, ToCanary: canary}
}

func stageDone(index int, name string) sluice.StageEnded {
	return sluice.StageEnded{Index: index, Name: name, Status: "done"}
}

// half is a canary pipeline at half of the traffic, by task sets.
func half() *plan.Plan {
	p := canaryPlan()
	fifty, none := sluice.CanaryShare(50), sluice.CanaryShare(0)
	route := func(w sluice.Weights) []plan.Route {
		return []plan.Route{{Rule: rule, Name: "rule 10 of port 80", Weights: w}}
	}
	p.Serving = &plan.Serving{ID: "ecs-svc/1", Revision: "web:1", Desired: 4, Running: 4}
	p.Stages = []plan.Stage{
		{Index: 0, Name: appfile.StageCanaryRollout, Scale: 50},
		{Index: 1, Name: appfile.StageTrafficRouting, Weights: &fifty, Routes: route(fifty)},
		{Index: 2, Name: appfile.StagePrimaryRollout},
		{Index: 3, Name: appfile.StageTrafficRouting, Weights: &none, Routes: route(none)},
		{Index: 4, Name: appfile.StageCanaryClean, Routes: route(none)},
	}
	p.Rollback = plan.Stage{Index: 5, Name: appfile.StageRollback, Routes: route(none)}
	return p
}

// rolls is a rolling service.
func rolls() *plan.Plan {
	p := half()
	p.Controller, p.Rollback.Routes = "ECS", nil
	p.Stages = []plan.Stage{{Index: 0, Name: appfile.StageSync}}
	p.Rollback.Index = 1
	return p
}

// The board shows what serves: a row for each version that has tasks, with the weights
// that were read back last, and counts that agree with what is waited for.
func TestBoardShowsWhatServes(t *testing.T) {
	upToHalf := []boardMoment{
		{sluice.DeploymentStarted{}, "primary web:1 4 of 4 running requested 100%, actual 100% | canary - " +
			"requested 0%, actual 0%"},
		{capacity(sluice.Canary, "ecs-svc/2", "web:2", 2, 2),
			"primary web:1 4 of 4 running requested 100%, actual 100% | canary web:2 2 of 2 running, 2 " +
				"healthy requested 0%, actual 0%"},
		{stageDone(0, appfile.StageCanaryRollout), ""},
		{sluice.StageStarted{Index: 1, Name: appfile.StageTrafficRouting}, ""},
		{shifted(50, 50), "primary web:1 4 of 4 running requested 50%, actual 50% | canary web:2 2 of 2 running, 2 " +
			"healthy requested 50%, actual 50%"},
		{stageDone(1, appfile.StageTrafficRouting), ""},
		{sluice.StageStarted{Index: 2, Name: appfile.StagePrimaryRollout}, ""},
		{capacity(sluice.Primary, "ecs-svc/3", "web:2", 0, 4),
			"old web:1 4 of 4 running requested 50%, actual 50% | primary web:2 0 of 4 running, 0 healthy | canary " +
				"web:2 2 of 2 running, 2 healthy requested 50%, actual 50%"},
	}
	for name, c := range map[string]struct {
		plan    *plan.Plan
		moments []boardMoment
	}{
		"a canary to its end": {half(), append(upToHalf[:len(upToHalf):len(upToHalf)],
			boardMoment{capacity(sluice.Primary, "ecs-svc/3", "web:2", 4, 4),
				"old web:1 4 of 4 running | primary web:2 4 of 4 running, 4 healthy requested 50%, actual 50% | " +
					"canary web:2 2 of 2 running, 2 healthy requested 50%, actual 50%"},
			boardMoment{leaving("ecs-svc/1", "web:1", 1, 3),
				"old web:1 1 running, 3 draining | primary web:2 4 of 4 running, 4 healthy requested 50%, actual 50% " +
					"| canary web:2 2 of 2 running, 2 healthy requested 50%, actual 50%"},
			boardMoment{leaving("ecs-svc/1", "web:1", 0, 0),
				"primary web:2 4 of 4 running, 4 healthy requested 50%, actual 50% | canary web:2 2 of 2 running, 2 " +
					"healthy requested 50%, actual 50%"},
			boardMoment{stageDone(2, appfile.StagePrimaryRollout), ""},
			boardMoment{sluice.StageStarted{Index: 3, Name: appfile.StageTrafficRouting}, ""},
			boardMoment{shifted(100, 0), ""},
			boardMoment{sluice.StageStarted{Index: 4, Name: appfile.StageCanaryClean}, ""},
			boardMoment{leaving("ecs-svc/2", "web:2", 0, 0),
				"primary web:2 4 of 4 running, 4 healthy requested 100%, actual 100% | canary web:2 0 running " +
					"requested 0%, actual 0%"},
			boardMoment{stageDone(4, appfile.StageCanaryClean), ""},
			boardMoment{sluice.DeploymentEnded{Outcome: sluice.Succeeded},
				"primary web:2 4 of 4 running, 4 healthy requested 100%, actual 100% | canary - " +
					"requested 0%, actual 0%"})},
		"a canary rolled back": {half(), append(upToHalf[:len(upToHalf):len(upToHalf)],
			boardMoment{sluice.StageStarted{Index: 5, Name: appfile.StageRollback}, ""},
			boardMoment{shifted(100, 0), "old web:1 4 of 4 running requested 100%, actual 100% | primary web:2 0 of " +
				"4 running, 0 healthy | canary web:2 2 of 2 running, 2 healthy requested 0%, actual 0%"},
			boardMoment{leaving("ecs-svc/3", "web:2", 3, 0),
				"old web:2 3 running | primary web:1 4 of 4 running requested 100%, actual 100% | canary web:2 2 of " +
					"2 running, 2 healthy requested 0%, actual 0%"},
			boardMoment{stageDone(5, appfile.StageRollback), ""},
			boardMoment{sluice.DeploymentEnded{Outcome: sluice.RolledBack},
				"primary web:1 4 of 4 running requested 100%, actual 100% | canary - requested 0%, actual 0%"})},
		"a rolling update": {rolls(), []boardMoment{
			{sluice.DeploymentStarted{}, "primary web:1 4 of 4 running"},
			{capacity(sluice.Primary, "", "web:2", 0, 4), "old web:1 4 of 4 running | primary web:2 0 of 4 running"},
			{leaving("ecs-svc/1", "web:1", 2, 0), "old web:1 2 running | primary web:2 0 of 4 running"},
			{leaving("ecs-svc/1", "web:1", 0, 0), "primary web:2 0 of 4 running"},
			{capacity(sluice.Primary, "", "web:2", 4, 4), ""},
			{stageDone(0, appfile.StageSync), "primary web:2 4 of 4 running, 4 healthy"},
		}},
		"a rolling update rolled back": {rolls(), []boardMoment{
			{sluice.DeploymentStarted{}, ""},
			{capacity(sluice.Primary, "", "web:2", 0, 4), ""},
			{sluice.StageStarted{Index: 1, Name: appfile.StageRollback}, ""},
			{leaving("ecs-svc/2", "web:2", 2, 0),
				"old web:1 4 of 4 running | old web:2 2 running | primary web:2 0 of 4 running"},
			{capacity(sluice.Primary, "", "web:1", 4, 4),
				"old web:2 2 running | primary web:1 4 of 4 running, 4 healthy"},
			{stageDone(1, appfile.StageRollback), "primary web:1 4 of 4 running, 4 healthy"},
		}},
	} {
		b := NewBoard(c.plan)
		for i, m := range c.moments {
			e := sluice.Seal("slc-1", "", m.event)
			e.At = start
			b.ApplyEvent(e)
			if m.shows == "" {
				continue
			}
			var rows []string
			for _, line := range b.footLines(Paint{}, 100) {
				rows = append(rows, strings.Join(strings.Fields(line), " "))
			}
			if got := strings.Join(rows, " | "); got != m.shows {
				t.Errorf("%s, event %d %s:\n got %s\nwant %s", name, i, e.Kind, got, m.shows)
			}
		}
	}
}

// A line that is cut says so.
func TestClipMarksTheCut(t *testing.T) {
	for in, want := range map[string]string{"abcdef": "abcd…", "abcde": "abcde", "abcd": "abcd"} {
		if got := (Paint{}).ClipLine(in, 5); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// A terminal of 80 columns shows all of a row, of a stage's text and of the first line; one that is too low cuts stages.
func TestANarrowBoardCutsNothingThatIsRead(t *testing.T) {
	p := half()
	p.Stages[0] = plan.Stage{Name: appfile.StageApproval, Approvals: 2,
		Approvers: []string{"ann@example.com", "bob@example.com", "carol@example.com"}}
	b := NewBoard(p)
	at := start
	for _, ev := range []sluice.Event{sluice.DeploymentStarted{}, sluice.StageStarted{Index: 0},
		capacity(sluice.Primary, "ecs-svc/1", "web:1", 4, 4), shifted(90, 10),
		sluice.CapacityChanged{Variant: sluice.Canary, TaskSet: "ecs-svc/2", Revision: "web:2", Desired: 40, Running: 38,
			Pending: 12, Healthy: 26, Draining: 11},
	} {
		e := sluice.Seal("slc-1", "", ev)
		e.At = at
		b.ApplyEvent(e)
	}
	b.measured = &sluice.MeasuredShare{Percent: 10, Low: 5.04, High: 12.6}
	b.requested = sluice.CanaryShare(10)
	for _, width := range []int{60, 80, 120} {
		text := strings.Join(b.renderLines(at, width, 40, Paint{}), "\n")
		joined := strings.Join(strings.Fields(text), " ")
		for _, want := range []string{"ann@example.com, bob@example.com, carol@example.com", "web:2 38 of 40 running, 12 pending",
			"26 healthy, 11 draining", "requested 10%, actual 10%, measured " + b.measured.Interval()} {
			if !strings.Contains(joined, want) || strings.Contains(text, "…") {
				t.Errorf("at %d columns the board is\n%s\nwanted all of %q", width, text, want)
			}
		}
	}
	if rows := b.renderLines(at, 80, 12, Paint{}); len(rows) > 11 {
		t.Errorf("the board has %d rows on a terminal of 12, which keeps one for the cursor:\n%s", len(rows),
			strings.Join(rows, "\n"))
	}
}
