package inspect

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice/internal/cli/show"
)

func TestStatusOfAStrategyOfECSShowsItsHook(t *testing.T) {
	tr := &ServiceReport{Cluster: "prod", Service: "web", Region: "us-east-1", Status: "ACTIVE", Controller: "ECS",
		Desired: 4, Running: 8,
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
