package inspect

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice/internal/cli/show"
	"github.com/sluice-ecs/sluice/internal/ecs"
)

func TestStatusOfAStrategyOfECSShowsItsHook(t *testing.T) {
	tr := &ServiceReport{Cluster: "prod", Service: "web", Region: "us-east-1",
		ServiceState: ecs.ServiceState{Status: "ACTIVE", Controller: "ECS", Desired: 4, Running: 8},
		ServiceDeployment: &currentReport{ARN: "arn:aws:ecs:us-east-1:123456789012:service-deployment/prod/web/x1",
			Status: "IN_PROGRESS", Revision: "web:2",
			Stage: "PRE_PRODUCTION_TRAFFIC_SHIFT", Weight: 10, Hook: "ecs-pause-1", Expires: start}}
	var out bytes.Buffer
	if err := (serviceView{}).writeService(&out, tr); err != nil {
		t.Fatal(err)
	}
	want := "service deployment x1: IN_PROGRESS, deploys web:2, PRE_PRODUCTION_TRAFFIC_SHIFT with 10% of the " +
		"traffic, waiting: sluice continue answers hook ecs-pause-1 (until " + show.FormatTime(start) + ")\n"
	if !strings.Contains(out.String(), want) {
		t.Errorf("%s\nwant %s", out.String(), want)
	}
	if !tr.isDeploying() {
		t.Error("a deployment that waits for its hook is not followed")
	}
}

// A deployment of one stage that ECS runs by its own strategy goes on without a process of sluice. Its status says what
// gets it further, and not what the journal waited for.
func TestStatusSaysWhatGetsADeploymentOfECSFurther(t *testing.T) {
	const head = "deployment slc-1: paused, web:1 -> web:2, no process is running it. "
	const old = "waiting for ECS: hook ecs-pause-1"
	one, two := []stageReport{{Number: 1}}, []stageReport{{Number: 1}, {Number: 2}}
	for _, c := range []struct {
		name   string
		ecs    currentReport
		stages []stageReport
		want   string
		waits  bool
	}{
		{"paused at a hook", currentReport{Status: "IN_PROGRESS", Revision: "web:2", Hook: "ecs-pause-1"}, one,
			"ECS waits for an answer: sluice continue. To follow it: sluice resume slc-1\n", false},
		{"answered", currentReport{Status: "IN_PROGRESS", Revision: "web:2"}, one,
			"To continue: sluice resume slc-1\n", false},
		{"succeeded", currentReport{Status: "SUCCESSFUL", Revision: "web:2"}, one,
			"ECS's deployment has ended: SUCCESSFUL. To end this one too: sluice resume slc-1\n", false},
		{"another revision", currentReport{Status: "SUCCESSFUL", Revision: "web:1"}, one,
			"To continue: sluice resume slc-1\n", true},
		{"a pipeline", currentReport{Status: "SUCCESSFUL", Revision: "web:2"}, two,
			"To continue: sluice resume slc-1\n", true},
	} {
		d := &DeploymentReport{ID: "slc-1", State: "paused", From: "web:1", To: "web:2", Stages: c.stages, Waiting: old}
		var out bytes.Buffer
		if err := (serviceView{}).writeService(&out, &ServiceReport{Cluster: "prod", Service: "web",
			ServiceState: ecs.ServiceState{Status: "ACTIVE", Controller: "ECS"}, Deployment: d,
			ServiceDeployment: &c.ecs}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), head+c.want) {
			t.Errorf("%s: the status is\n%s\nwant %s", c.name, out.String(), head+c.want)
		}
		if got := strings.Contains(out.String(), old); got != c.waits {
			t.Errorf("%s: the status says what the journal waits for: %t, want %t\n%s", c.name, got, c.waits, out.String())
		}
	}
}
