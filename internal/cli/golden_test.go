package cli

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/route/cloudmap"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with testdata/name.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.ReplaceAll(string(want), "\r\n", "\n"); got != want {
		t.Errorf("%s is not as in %s:\n%s\nwant:\n%s", t.Name(), path, got, want)
	}
}

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const (
	lb   = "arn:aws:elasticloadbalancing:us-east-1:123456789012:"
	rule = lb + "listener-rule/app/web/0123456789abcdef/0123456789abcdef/0123456789abcdef"
)

// canaryPlan is a plan as package plan makes them.
func canaryPlan() *plan.Plan {
	ten, hundred := sluice.CanaryShare(10), sluice.CanaryShare(0)
	route := func(w sluice.Weights) []plan.Route {
		return []plan.Route{{Rule: rule, Name: "rule 10 of port 80", Weights: w}}
	}
	modify := sluice.Write{Operation: "elasticloadbalancing:ModifyRule", Resource: rule}
	claim := sluice.Write{Operation: "ecs:TagResource", Resource: "prod/web"}
	return &plan.Plan{
		Schema: plan.Schema, Application: "web", Account: "123456789012", Region: "us-east-1", Cluster: "prod",
		Service: "web",
		Access:  sluice.ELB, From: "web:1", To: "web", AutoRollback: true,
		Stages: []plan.Stage{
			{Index: 0, Name: appfile.StageCanaryRollout, Scale: 50, Writes: []sluice.Write{
				{Operation: "ecs:RegisterTaskDefinition", Resource: "web"}, claim,
				{Operation: "ecs:CreateTaskSet", Resource: "prod/web"}}},
			{Index: 1, Name: appfile.StageTrafficRouting, Weights: &ten, Desc: "a tenth", Routes: route(ten),
				Writes: []sluice.Write{modify, claim}},
			{Index: 2, Name: appfile.StageWait, Duration: 10 * time.Second},
			{Index: 3, Name: appfile.StageApproval, Approvals: 1, Approvers: []string{"ana", "ben"}},
		},
		Rollback: plan.Stage{Index: 4, Name: appfile.StageRollback, Routes: route(hundred),
			Writes: []sluice.Write{modify}},
		Finish: []sluice.Write{{Operation: "ecs:UntagResource", Resource: "prod/web"}},
		Changes: []plan.Change{
			{Of: "task definition", Path: "containerDefinitions[web].image", Have: "sim/web:v1", Want: "sim/web:v2"},
			{Of: "service", Path: "desiredCount", Have: "2", Want: "4"},
		},
		Warnings: []string{"target group web-primary drains for 5m0s"},
		Notes:    []string{"ignored by sluice (used by piped): spec.labels"},
	}
}

// failedCanaryEvents are the events of a canary that fails and is rolled back.
func failedCanaryEvents() []sluice.Envelope {
	type at struct {
		seconds int
		stage   string
		event   sluice.Event
	}
	create := sluice.Write{Operation: "ecs:CreateTaskSet", Resource: "prod/web"}
	modify := sluice.Write{Operation: "elasticloadbalancing:ModifyRule", Resource: rule}
	all := []at{
		{0, "", sluice.DeploymentStarted{Cluster: "prod", Service: "web", Region: "us-east-1", Trigger: "by hand",
			From: "web:1", To: "web"}},
		{0, "1", sluice.StageStarted{Index: 0, Name: appfile.StageCanaryRollout, Attempt: 1}},
		{1, "1", sluice.Writing{Write: create}},
		{1, "1", sluice.Wrote{Write: create, Result: "ecs-svc/0001"}},
		{3, "1", sluice.CapacityChanged{Variant: sluice.Canary, TaskSet: "ecs-svc/0001", Revision: "web:2", Desired: 2,
			Pending: 2}},
		{31, "1", sluice.CapacityChanged{Variant: sluice.Canary, TaskSet: "ecs-svc/0001", Revision: "web:2", Desired: 2,
			Running: 2, Healthy: 2, Targets: 2}},
		{31, "1", sluice.StageEnded{Index: 0, Name: appfile.StageCanaryRollout, Status: "done"}},
		{31, "2", sluice.StageStarted{Index: 1, Name: appfile.StageTrafficRouting, Desc: "a tenth", Attempt: 2}},
		{32, "2", sluice.Wrote{Write: modify, Result: "web-primary 90, web-canary 10"}},
		{33, "2", sluice.TrafficShifted{FromPrimary: 100, ToPrimary: 90, ToCanary: 10, Rules: []string{rule}}},
		{33, "2", sluice.StageEnded{Index: 1, Name: appfile.StageTrafficRouting, Status: "done"}},
		{33, "3", sluice.StageStarted{Index: 2, Name: appfile.StageWait, Attempt: 1}},
		{33, "3", sluice.Waiting{For: "10s to pass", Until: start.Add(43 * time.Second)}},
		{40, "3", sluice.FailureSeen{Variant: sluice.Canary, Cause: "exit code 1 (container web)", Count: 3,
			Task: "0a1b"}},
		{43, "3", sluice.StageEnded{Index: 2, Name: appfile.StageWait, Status: "failed",
			Cause: "3 of 3 tasks stopped: exit code 1", Next: "fix the image and deploy again"}},
		{43, "5", sluice.RollbackStarted{Cause: "3 of 3 tasks stopped: exit code 1"}},
		{43, "5", sluice.StageStarted{Index: 4, Name: appfile.StageRollback, Attempt: 1}},
		{44, "5", sluice.Warned{Message: "rule 10 of port 80 was edited by somebody else"}},
		{44, "5", sluice.TrafficShifted{FromPrimary: 90, FromCanary: 10, ToPrimary: 100, Rules: []string{rule}}},
		{50, "5", sluice.StageEnded{Index: 4, Name: appfile.StageRollback, Status: "done"}},
		{50, "", sluice.Unknown{Name: "moonRose", Data: []byte(`{"phase": "full"}`)}},
		{51, "", sluice.DeploymentEnded{Outcome: sluice.RolledBack, Cause: "3 of 3 tasks stopped: exit code 1"}},
	}
	var out []sluice.Envelope
	for i, a := range all {
		e := sluice.Seal("slc-1", a.stage, a.event)
		e.Seq, e.At = int64(i+1), start.Add(time.Duration(a.seconds)*time.Second)
		out = append(out, e)
	}
	return out
}

func play(r renderer) {
	for _, e := range failedCanaryEvents() {
		r.showEvent(e)
	}
	r.close()
}

func TestLines(t *testing.T) {
	var b bytes.Buffer
	play(&lineRenderer{w: &b})
	golden(t, "lines.txt", b.String())
}

func TestLinesOnGitHub(t *testing.T) {
	var b bytes.Buffer
	play(&lineRenderer{w: &b, groups: true})
	golden(t, "github.txt", b.String())
}

func TestJSONLines(t *testing.T) {
	var b, notes bytes.Buffer
	play(&jsonLines{w: &b, notes: &notes})
	golden(t, "events.jsonl", b.String())
}

func TestPlanView(t *testing.T) {
	var b bytes.Buffer
	if err := (planView{}).writePlan(&b, canaryPlan()); err != nil {
		t.Fatal(err)
	}
	golden(t, "plan.txt", b.String())
}

func TestPlanViewWithoutChanges(t *testing.T) {
	p := canaryPlan()
	p.Changes, p.Notes, p.From, p.To = nil, nil, "web:2", "web:2"
	var b bytes.Buffer
	if err := (planView{}).writePlan(&b, p); err != nil {
		t.Fatal(err)
	}
	golden(t, "nochanges.txt", b.String())
}

// The board is drawn after each of some moments.
func TestBoard(t *testing.T) {
	b := newProgressBoard(canaryPlan())
	var out strings.Builder
	for i, e := range failedCanaryEvents() {
		b.applyEvent(e)
		switch i {
		case 2, 5, 12, 14, 21:
			out.WriteString("after " + e.Kind + ":\n" + strings.Join(b.renderLines(e.At, 100, 24, paint{}), "\n") +
				"\n\n")
		}
	}
	golden(t, "board.txt", out.String())
}

func TestTree(t *testing.T) {
	ninety, ten := 90, 10
	asked := sluice.CanaryShare(10)
	tr := &serviceReport{Cluster: "prod", Service: "web", Region: "us-east-1", Status: "ACTIVE", Controller: "EXTERNAL",
		Desired: 2, Running: 3,
		Rules: []ruleReport{{ARN: rule, Name: "rule 10 of port 80", Primary: &ninety, Canary: &ten},
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
		Deployment: &deploymentReport{ID: "slc-1", State: "running", From: "web:1", To: "web:2", Runner: "host/1",
			Requested: &asked},
	}
	b := newProgressBoard(canaryPlan())
	for _, e := range failedCanaryEvents()[:13] {
		b.applyEvent(e)
	}
	tr.Deployment.Stages, tr.Deployment.Waiting = reportStages(canaryPlan(), b), b.current
	var out bytes.Buffer
	if err := (serviceView{}).writeService(&out, tr); err != nil {
		t.Fatal(err)
	}
	golden(t, "tree.txt", out.String())
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
	tr := &serviceReport{Cluster: "prod", Service: "api", Region: "us-east-1", Status: "ACTIVE", Controller: "EXTERNAL",
		Desired: 3, Running: 5,
		Names: []nameReport{countRegistered(registry, instances, running)}, Deployment: &deploymentReport{ID: "slc-1",
			State: "running", From: "api:1", To: "api:2", Requested: &asked}}
	var out bytes.Buffer
	if err := (serviceView{}).writeService(&out, tr); err != nil {
		t.Fatal(err)
	}
	golden(t, "treename.txt", out.String())
}
