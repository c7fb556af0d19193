package history

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
)

func shift(revision, content string, succeeded, returns bool) plan.PastShift {
	return plan.PastShift{Revision: revision, Content: content, Succeeded: succeeded, Returns: returns}
}

// A rollback goes back one version, and a rollback after a rollback does not undo it.
func TestCodeDeployReturn(t *testing.T) {
	deployed := func(all ...string) (past []plan.PastShift) {
		for _, name := range all {
			past = append(past, plan.PastShift{Revision: name, Succeeded: true})
		}
		return past
	}
	for name, c := range map[string]struct {
		current     string
		past        []plan.PastShift
		to, nothing string
		fails       bool
	}{
		"a version before":  {"web:3", deployed("web:3", "web:2", "web:1"), "web:2", "", false},
		"the same twice":    {"web:3", deployed("web:3", "web:3", "web:2"), "web:2", "", false},
		"no version before": {"web:2", deployed("web:2"), "", "", true},
		"returned": {"web:2", deployed("web:2", "web:3", "web:2", "web:1"), "", "web:2 runs again: it had served before " +
			"web:3, which it replaced. To deploy web:3, run sluice rollback --cluster prod --service web --to web:3", false},
		"returned to the first version": {"web:1", []plan.PastShift{shift("web:1", "", true, true),
			shift("web:2", "", true, false)}, "", "web:1 runs again: it had served before web:2, which it replaced. " +
			"To deploy web:2, run sluice rollback --cluster prod --service web " +
			"--to web:2", false},
		"deployed after a return": {"web:4", []plan.PastShift{shift("web:4", "", true, false),
			shift("web:2", "", true, true), shift("web:3", "", true, false), shift("web:2", "", true, false)},
			"web:2", "", false},
		"the version that was left is deployed again": {"web:3", deployed("web:3", "web:2", "web:3", "web:2", "web:1"), "web:2",
			"", false},
		"rolled back by CodeDeploy": {"web:2", append([]plan.PastShift{{Revision: "web:3"}}, deployed("web:2", "web:1")...),
			"",
			"web:2 runs again: it had served before web:3, which it replaced. To deploy web:3, run sluice rollback --cluster " +
				"prod --service web --to web:3", false},
		"a copy": {"web:4", []plan.PastShift{shift("web:4", "b", true, false), shift("web:3", "c", true, false),
			shift("web:2", "b", true, false)}, "", "web:4 runs again: it had served before web:3, which it replaced. " +
			"To deploy web:3, run sluice rollback " +
			"--cluster prod --service web --to web:3", false},
	} {
		live := plan.AWSState{Service: &ecstypes.Service{ServiceName: aws.String("web")}, Deployer: &plan.Deployer{},
			TaskSets: []sluice.TaskSet{{ID: "ecs-svc/1", Status: "PRIMARY", Revision: c.current}}}
		back, err := ChooseCodeDeployReturn("prod", live, "", c.past)
		if back.To != c.to || back.Nothing != c.nothing || (err != nil) != c.fails {
			t.Errorf("%s: to %q, nothing %q, %v", name, back.To, back.Nothing, err)
		}
	}
}

// A rollback that runs is not rolled back: that would leave the version that it replaces.
func TestCodeDeployReturnDuringRollback(t *testing.T) {
	past := []plan.PastShift{{Revision: "web:2", Succeeded: true}, {Revision: "web:1", Succeeded: true}}
	for name, c := range map[string]struct {
		rollsBack bool
		running   string
		past      []plan.PastShift
		to        string // the revision that is returned to; "" = refused
	}{
		"a new version":                     {false, "web:3", past, "web:2"},
		"the tasks are replaced":            {false, "web:2", past, "web:1"},
		"a rollback to the first version":   {true, "web:1", past[:1], ""},
		"a rollback before its task set":    {true, "", past, ""},
		"a deployment of a former revision": {false, "web:1", past, ""},
		"the version that was left again": {false, "web:3", append([]plan.PastShift{{Revision: "web:2", Succeeded: true},
			{Revision: "web:3", Succeeded: true}}, past...), "web:2"},
	} {
		live := plan.AWSState{Service: &ecstypes.Service{ServiceName: aws.String("web")},
			Deployer: &plan.Deployer{Running: "d-2", RollsBack: c.rollsBack},
			TaskSets: []sluice.TaskSet{{ID: "ecs-svc/1", Status: "PRIMARY", Revision: "web:2", ExternalID: "d-1"}}}
		if c.running != "" {
			live.TaskSets = append(live.TaskSets, sluice.TaskSet{ID: "ecs-svc/2", Status: "ACTIVE", Revision: c.running,
				ExternalID: "d-2"})
		}
		back, err := ChooseCodeDeployReturn("prod", live, "", c.past)
		if back.To != c.to || (sluice.KindOf(err) == sluice.Overtaken) != (c.to == "") {
			t.Errorf("%s: got a return to %q and error %v, want a return to %q (empty: refused as overtaken)", name, back.To,
				err, c.to)
		}
	}
}
