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
