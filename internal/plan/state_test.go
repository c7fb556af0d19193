package plan

import (
	"testing"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
)

// stagesOf are stages by a letter each: C50 canary rollout at 50 %, T10 traffic at 10 %, P primary
// rollout, K primary rollout that keeps the old one, E canary clean, S sync, W wait.
func stagesOf(text ...string) (all []Stage) {
	number := func(s string) (n int) {
		for _, c := range s[1:] {
			n = 10*n + int(c-'0')
		}
		return n
	}
	for i, s := range text {
		st := Stage{Index: i}
		switch s[0] {
		case 'C':
			st.Name, st.Scale = appfile.StageCanaryRollout, number(s)
		case 'T':
			w := sluice.CanaryShare(number(s))
			st.Name, st.Weights = appfile.StageTrafficRouting, &w
		case 'P', 'K':
			st.Name, st.KeepOld = appfile.StagePrimaryRollout, s[0] == 'K'
		case 'E':
			st.Name = appfile.StageCanaryClean
		case 'S':
			st.Name = appfile.StageSync
		case 'W':
			st.Name = appfile.StageWait
		}
		all = append(all, st)
	}
	return all
}

func TestStateAfterEachStage(t *testing.T) {
	type row struct {
		stage    string
		primary  string
		previous bool
		canary   int
		share    int
		shifted  bool
	}
	for name, rows := range map[string][]row{
		"canary": {
			{"", "web:1", true, 0, 0, false},
			{"C50", "web:1", true, 50, 0, false},
			{"T10", "web:1", true, 50, 10, true},
			{"W", "web:1", true, 50, 10, true},
			{"P", "web:2", false, 50, 10, true},
			{"T0", "web:2", false, 50, 0, true},
			{"E", "web:2", false, 0, 0, true},
		},
		"blue/green that keeps the old primary": {
			{"", "web:1", true, 0, 0, false},
			{"C100", "web:1", true, 100, 0, false},
			{"T100", "web:1", true, 100, 100, true},
			{"K", "web:2", true, 100, 100, true},
			{"E", "web:2", false, 0, 0, true},
		},
		"a canary that is given up": {
			{"", "web:1", true, 0, 0, false},
			{"C20", "web:1", true, 20, 0, false},
			{"T20", "web:1", true, 20, 20, true},
			{"E", "web:1", true, 0, 0, true},
		},
		"sync after a canary": {
			{"", "web:1", true, 0, 0, false},
			{"C20", "web:1", true, 20, 0, false},
			{"T20", "web:1", true, 20, 20, true},
			{"S", "web:2", false, 0, 0, true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var stages []string
			for _, r := range rows[1:] {
				stages = append(stages, r.stage)
			}
			p := &Plan{From: "web:1", To: "web:2", Stages: stagesOf(stages...)}
			for i, r := range rows {
				s := p.StateAfter(i - 1)
				got := row{r.stage, s.Primary, s.PreviousPrimary, s.Canary.Scale, s.CanaryShare(), s.Shifted}
				if got != r {
					t.Errorf("after stage %d: %+v, want %+v", i, got, r)
				}
				if s != p.StateBefore(i) {
					t.Errorf("the state after stage %d is not the state before the next", i)
				}
				if s.NewPrimary != (s.Primary == "web:2") || s.Canary.Exists() && s.Canary.Revision != "web:2" {
					t.Errorf("after stage %d: %+v", i, s)
				}
			}
			if p.FinalState() != p.StateBefore(len(p.Stages)) {
				t.Error("the rollback does not begin in the final state")
			}
		})
	}
}

func TestStateHasTheClaimAndTheSuspension(t *testing.T) {
	p := &Plan{Cluster: "prod", Service: "web", Scaling: &Scaling{Suspend: true}, Stages: stagesOf("W", "C50", "E")}
	p.Stages[1].AddWrite("ecs:TagResource", p.ServiceResource())
	for i, want := range []bool{false, false, true, true} {
		if s := p.StateBefore(i); s.Claimed != want || s.ScalingSuspended != want {
			t.Errorf("before stage %d: claimed %t, suspended %t, want %t", i+1, s.Claimed, s.ScalingSuspended, want)
		}
	}
}

func TestCanaryTasks(t *testing.T) {
	for _, c := range []struct {
		canary  Canary
		desired int
		want    int
	}{{Canary{}, 4, 0}, {Canary{Scale: 50}, 4, 2}, {Canary{Scale: 10}, 4, 1}, {Canary{Scale: 50, Extra: 3}, 4, 5}} {
		if n := c.canary.Tasks(c.desired); n != c.want {
			t.Errorf("%+v of %d desired tasks: %d, want %d", c.canary, c.desired, n, c.want)
		}
	}
}

// A stage that the files know has a row here, and each row has one property at least.
func TestEveryStageHasProperties(t *testing.T) {
	for _, name := range appfile.PipelineStages() {
		if p := propertiesOf(name); !p.inPipelines {
			t.Errorf("stage %s may be in a file and has no row in stageTable that says so", name)
		}
	}
	inFiles := map[string]bool{}
	for _, name := range appfile.PipelineStages() {
		inFiles[name] = true
	}
	seen := map[string]bool{}
	for _, p := range stageTable {
		if seen[p.name] {
			t.Errorf("stage %s has two rows", p.name)
		}
		seen[p.name] = true
		if p.inPipelines && !inFiles[p.name] {
			t.Errorf("stage %s is in stageTable as one of pipelines, and files do not know it", p.name)
		}
		if p == (stageProperties{name: p.name}) {
			t.Errorf("stage %s has no property", p.name)
		}
	}
}
