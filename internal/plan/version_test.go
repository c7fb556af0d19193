package plan

import (
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
)

// A deployment keeps the version if it changes only the number of tasks, or replaces tasks.
func TestKeepsVersion(t *testing.T) {
	count := Change{Of: "service", Path: "desiredCount"}
	for name, c := range map[string]struct {
		from, to        string
		changes         []Change
		keeps, replaces bool
	}{
		"scale":                   {"web:2", "web:2", []Change{count}, true, false},
		"scale of a task set":     {"web:2", "web:2", []Change{count}, true, true},
		"auto scaling":            {"web:2", "web:2", []Change{{Of: "auto scaling", Path: "minCapacity"}}, true, false},
		"forced":                  {"web:2", "web:2", []Change{{Of: "service", Path: "forceNewDeployment"}}, true, true},
		"restart":                 {"web:2", "web:2", []Change{{Of: "service", Path: "deployment"}}, true, true},
		"run although unchanged":  {"web:2", "web:2", nil, true, true},
		"another revision":        {"web:1", "web:2", nil, false, true},
		"a revision to register":  {"web:1", "web", nil, false, true},
		"first":                   {"", "web:1", nil, false, true},
		"network of the service":  {"web:2", "web:2", []Change{count, {Of: "service", Path: "networkConfiguration"}}, false, false},
		"tags of the task":        {"web:2", "web:2", []Change{{Of: "task definition", Path: "tags"}}, false, true},
		"scale beside a leftover": {"web:2", "web:2", []Change{{Of: LeftoverKind, Path: "weights"}, count}, true, false},
	} {
		p := &Plan{From: c.from, To: c.to, Changes: c.changes, Stages: []Stage{{Name: "ECS_SYNC"}}}
		if strings.HasSuffix(name, " of a task set") {
			p.Stages[0].Writes = []sluice.Write{{Operation: "ecs:CreateTaskSet", Resource: "prod/web"}}
		}
		if p.KeepsVersion() != c.keeps || p.ReplacesTasks() != c.replaces {
			t.Errorf("%s: keeps the version %t, replaces tasks %t", name, p.KeepsVersion(), p.ReplacesTasks())
		}
	}
}

// A service that ECS rolls has no canary: whatever else its rules lead to is not the service.
func TestKeepsCanary(t *testing.T) {
	for name, c := range map[string]struct {
		plan  Plan
		keeps bool
	}{
		"task sets":         {Plan{Controller: "EXTERNAL", Hosting: appfile.TaskSets, From: "web:1", To: "web:1"}, true},
		"a canary service":  {Plan{Controller: "ECS", Hosting: appfile.Services, From: "web:1", To: "web:1"}, true},
		"ECS alone":         {Plan{Controller: "ECS", From: "web:1", To: "web:1"}, false},
		"CodeDeploy":        {Plan{Controller: "CODE_DEPLOY", From: "web:1", To: "web:1"}, false},
		"another version":   {Plan{Controller: "EXTERNAL", Hosting: appfile.TaskSets, From: "web:1", To: "web:2"}, false},
		"the first version": {Plan{Controller: "EXTERNAL", Hosting: appfile.TaskSets, To: "web:1"}, false},
	} {
		if c.plan.KeepsCanary() != c.keeps {
			t.Errorf("%s: the canary is kept: %t, want %t", name, !c.keeps, c.keeps)
		}
	}
}
