package piped_test

import (
	"strings"
	"testing"
)

// A quick sync of the revision that is PRIMARY already succeeds only once its tasks
// serve again: where they are lost, a new deployment is started.
func TestQuickSyncOfARevisionThatLostItsTasks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ world, service, write, says string }{
		"rolling":    {rolling, rollingFile, "ecs:UpdateService", ""},
		"task sets":  {external, serviceFile, "ecs:CreateTaskSet", ""},
		"CodeDeploy": {shifted, shiftedFile(), "codedeploy:CreateDeployment", "CodeDeploy deployment d-"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, c.world)
			v1 := source{image: "sim/web:v1", app: appFile(""), service: c.service}
			must(t, r.sim.Inject("no-capacity prod"))
			must(t, r.sim.Inject("task-crash web count=2"))
			d := r.begin(v1, v1)
			s := d.Stages[0]
			r.onLine(s.GetId(), c.write, func(string) { r.sim.ClearFaults() })
			d.run(s)
			log := r.piped.text(s.GetId())
			if state := r.state(); !strings.Contains(state, "PRIMARY sim/web:v1 100% 2 running") ||
				!strings.Contains(log, c.write) || !strings.Contains(log, c.says) {
				t.Errorf("%s\n%s", state, log)
			}
		})
	}
}

// A quick sync of files that already serve deploys nothing, for every controller, and tags the service with the new
// commit. Its rollback has nothing to do.
func TestQuickSyncOfUnchangedFiles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ world, service string }{
		"rolling":    {rolling, rollingFile},
		"task sets":  {external, serviceFile},
		"CodeDeploy": {shifted, shiftedFile()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, c.world+quick)
			v2 := source{app: appFile(""), service: c.service}
			r.begin(v2, v2).all()
			before := r.state()
			v2.hash = "h3"
			d := r.begin(v2, v2)
			d.all()
			log := r.piped.text(d.Stages[0].GetId())
			if !strings.Contains(log, "no changes: web:2 serves as the files describe") ||
				strings.Contains(log, "CreateTaskSet") || strings.Contains(log, "UpdateService") ||
				strings.Contains(log, "CreateDeployment") {
				t.Errorf("log:\n%s", log)
			}
			r.commit("h3", true)
			d.run(d.back())
			if now := r.state(); now != before || !strings.Contains(now, "sim/web:v2") {
				t.Errorf("%s\nwant %s", now, before)
			}
		})
	}
}
