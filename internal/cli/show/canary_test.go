package show

import (
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
)

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
			{Of: "task definition", Path: "containerDefinitions[web].image", Have: "sim/web:v1", Want: "sim/web:v2",
				Kind: plan.Alters},
			{Of: "service", Path: "desiredCount", Have: "2", Want: "4", Kind: plan.Alters},
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
		{0, "", sluice.DeploymentStarted{Cluster: "prod", Service: "web", Region: "us-east-1", Trigger: "manual",
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
