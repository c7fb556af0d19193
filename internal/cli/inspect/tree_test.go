package inspect

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/cli/goldentest"
	"github.com/sluice-ecs/sluice/internal/cli/show"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/route/cloudmap"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// shiftingPlan is a plan with a stage of each kind that a status shows in its own words.
func shiftingPlan() *plan.Plan {
	ten := sluice.CanaryShare(10)
	return &plan.Plan{Access: sluice.ELB, Stages: []plan.Stage{
		{Index: 0, Name: appfile.StageCanaryRollout, Scale: 50},
		{Index: 1, Name: appfile.StageTrafficRouting, Weights: &ten},
		{Index: 2, Name: appfile.StageWait, Duration: 10 * time.Second},
		{Index: 3, Name: appfile.StageApproval, Approvals: 1, Approvers: []string{"ana", "ben"}},
	}, Rollback: plan.Stage{Index: 4, Name: appfile.StageRollback}}
}

// waitingEvents are the events of shiftingPlan until its third stage waits.
func waitingEvents() (all []sluice.Event) {
	for i, s := range shiftingPlan().Stages[:3] {
		all = append(all, sluice.StageStarted{Index: i, Name: s.Name, Attempt: 1})
		if i < 2 {
			all = append(all, sluice.StageEnded{Index: i, Name: s.Name, Status: "done"})
		}
	}
	return append(all, sluice.Waiting{For: "10s to pass", Until: start.Add(43 * time.Second)})
}

func TestTree(t *testing.T) {
	ninety, ten := 90, 10
	asked := sluice.CanaryShare(10)
	tr := &ServiceReport{Cluster: "prod", Service: "web", Region: "us-east-1",
		ServiceState: ecs.ServiceState{Status: "ACTIVE", Controller: "EXTERNAL", Desired: 2, Running: 3},
		Rules: []ruleReport{{Name: "rule 10 of port 80", Primary: &ninety, Canary: &ten},
			{Name: "default rule of port 8080", Primary: &ninety}},
		TaskSets: []taskSetReport{
			{ID: "ecs-svc/0002", Role: "canary", Status: "ACTIVE", Revision: "web:2", Scale: 50, Desired: 1, Running: 1,
				Tasks: []taskReport{{ID: "0c", Status: "RUNNING", Address: "172.31.0.3",
					Target: "unhealthy: Health checks failed with these codes: [500]"}}},
			{ID: "ecs-svc/0001", Role: "primary", Status: "PRIMARY", Revision: "web:1", Scale: 100, Desired: 2,
				Running: 2, Steady: true,
				Tasks: []taskReport{{ID: "0a", Status: "RUNNING", Address: "172.31.0.1", Target: "healthy"},
					{ID: "0b", Status: "PROVISIONING"}}},
		},
		OtherTargets: []targetReport{{Group: "web-primary", Address: "172.31.0.9",
			State: "draining: Target deregistration is in progress"}},
		Deployment: &DeploymentReport{ID: "slc-1", State: "running", From: "web:1", To: "web:2", Runner: "host/1",
			Requested: &asked},
	}
	b := show.NewBoard(shiftingPlan())
	for _, e := range waitingEvents() {
		b.ApplyEvent(sluice.Seal("slc-1", "", e))
	}
	tr.Deployment.Stages, tr.Deployment.Waiting = reportStages(shiftingPlan(), b), b.WaitingText()
	var out bytes.Buffer
	if err := (serviceView{}).writeService(&out, tr); err != nil {
		t.Fatal(err)
	}
	goldentest.Check(t, "tree.txt", out.String())
}

// Who is found under a name, of which variant, and who should not be.
func TestTreeOfAName(t *testing.T) {
	const p, c = "0000000000000000000000000000000", "1111111111111111111111111111111"
	running := map[string]sluice.Variant{p + "1": sluice.Primary, p + "2": sluice.Primary, p + "3": sluice.Primary, c +
		"1": sluice.Canary, c + "2": sluice.Canary}
	registry := plan.Registry{ARN: "arn:aws:servicediscovery:us-east-1:123456789012:service/srv-1", Name: "api",
		Namespace: "shop.local"}
	instances := []cloudmap.Instance{{ID: p + "1", Healthy: true}, {ID: p + "2"},
		{ID: cloudmap.InstancePrefix("slc-1") + c + "1", Healthy: true}, {ID: cloudmap.InstancePrefix("slc-1") + c +
			"9", Healthy: true}, {ID: "by-hand", Healthy: true}}
	asked := sluice.CanaryShare(25)
	tr := &ServiceReport{Cluster: "prod", Service: "api", Region: "us-east-1",
		ServiceState: ecs.ServiceState{Status: "ACTIVE", Controller: "EXTERNAL", Desired: 3, Running: 5},
		Names:        []nameReport{countRegistered(registry, instances, running)},
		Deployment: &DeploymentReport{ID: "slc-1",
			State: "running", From: "api:1", To: "api:2", Requested: &asked}}
	var out bytes.Buffer
	if err := (serviceView{}).writeService(&out, tr); err != nil {
		t.Fatal(err)
	}
	goldentest.Check(t, "treename.txt", out.String())
}

// A name that callers cannot use is a warning with a next step.
func TestTreeOfANameWithoutTasks(t *testing.T) {
	registry := plan.Registry{Name: "api", Namespace: "shop.local"}
	running := map[string]sluice.Variant{"1": sluice.Primary}
	for want, instances := range map[string][]cloudmap.Instance{
		"no instance is registered under api.shop.local":                               nil,
		"callers of api.shop.local get 1 instance, and none is of a task that runs it": {{ID: "by-hand", Healthy: true}},
		"callers of api.shop.local get 1 instance, and none is healthy":                {{ID: "1"}},
		"": {{ID: "1", Healthy: true}},
	} {
		tr := &ServiceReport{Cluster: "prod", Service: "api",
			ServiceState: ecs.ServiceState{Status: "ACTIVE", Desired: 1, Running: 1},
			Names:        []nameReport{countRegistered(registry, instances, running)}}
		var out bytes.Buffer
		if err := (serviceView{}).writeService(&out, tr); err != nil {
			t.Fatal(err)
		}
		const next = "next: see what callers resolve: aws servicediscovery discover-instances --namespace-name shop.local"
		isBad := want != ""
		if text := out.String(); !strings.Contains(text, want) || strings.Contains(text, next) != isBad ||
			strings.Contains(tr.summary(), "callers do not reach it") != isBad {
			t.Errorf("%q: %s\n%s", want, tr.summary(), text)
		}
	}
}
