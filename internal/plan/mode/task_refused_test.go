package mode

import (
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// AWS refuses a task of network mode awsvpc without subnets only when it is called:
// the revision would be registered by then.
func TestATaskWithoutANetworkIsRefused(t *testing.T) {
	alone := func(app string) *appfile.Application {
		a := job(t, app, "serviceName: web\n")
		a.Task.Input.NetworkMode = "awsvpc"
		return a
	}
	const served = "  serviceDefinitionFile: servicedef.yaml\n"
	for name, c := range map[string]struct{ app, next string }{
		"a task by itself": {alonePart, "awsvpcConfiguration"},
		"of a service":     {alonePart + served, "networkConfiguration in the service definition"},
	} {
		_, err := MakeRun(alone(c.app), plan.AWSState{}, RunOptions{})
		if err == nil || !strings.Contains(err.Error(), "no subnets are set") ||
			!strings.Contains(sluice.NextStep(err), c.next) {
			t.Errorf("%s: %v\nnext %q", name, err, sluice.NextStep(err))
		}
	}
	if _, err := MakeRun(alone(alonePart+"  awsvpcConfiguration: {subnets: [subnet-1]}\n"), plan.AWSState{},
		RunOptions{}); err != nil {
		t.Errorf("with subnets: %v", err)
	}
}

// Who expects a task to run is told that it is only registered, and how it is run.
func TestATaskThatIsOnlyRegisteredGetsAWarning(t *testing.T) {
	for _, c := range []struct {
		run    bool
		format appfile.Format
		want   string
	}{
		{false, appfile.Sluice, "the task is not run: runStandaloneTask is false; to run it, use sluice run"},
		{false, appfile.PipeCDv1, "runStandaloneTask is false (PipeCD v1's default); to run it, use sluice run"},
		{true, appfile.PipeCDv1, ""},
	} {
		a := job(t, alonePart, "")
		a.Standalone.Run, a.Format = c.run, c.format
		p, err := Make(a, plan.AWSState{}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		notes := strings.Join(p.Notes, "\n")
		if told := strings.Contains(notes, "is not run"); told != (c.want != "") || !strings.Contains(notes, c.want) {
			t.Errorf("%+v: notes %q", c, notes)
		}
	}
}
