package piped_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/sluice-ecs/sluice/internal/piped/contract"
)

const (
	approve = contract.Command_APPROVE_STAGE
	skip    = contract.Command_SKIP_STAGE
)

// undecided is an ANALYSIS that gets no requests to judge.
func undecided(with string) (app string, stages []*contract.BuildPipelineSyncStagesRequest_StageConfig) {
	stages = analysisStages()
	stages[len(stages)-1].Config = []byte(with)
	return appFile(strings.Replace(analysisPipeline, analysisStage, with, 1)), stages
}

const (
	asking = `{"duration":"5m","onUndecided":"hold","metrics":[{"signal":"errors","max":"10%"}]}`
	long   = `{"duration":"5h","metrics":[{"signal":"errors","max":"10%"}]}`
)

// approveAt presses APPROVE once a line of the log says something.
func (r *rig) approveAt(s *contract.PipelineStage, says string) {
	var once sync.Once
	r.onLine(s.GetId(), "", func(line string) {
		if strings.Contains(line, says) {
			once.Do(func() { r.piped.press(s.GetId(), approve) })
		}
	})
}

// toAnalysis runs the stages before ANALYSIS, and returns it.
func (r *rig) toAnalysis(with string) (*deployment, *contract.PipelineStage) {
	r.Helper()
	r.configure(`{"analysis":true}`)
	app, stages := undecided(with)
	d := r.begin(source{image: "sim/web:v1", app: app}, source{app: app}, stages...)
	all := d.inOrder()
	d.run(all[0])
	d.run(all[1])
	return d, all[2]
}

// A gate that asks waits for APPROVE when its time is over, and goes on then.
func TestApproveAGateWithoutAVerdict(t *testing.T) {
	t.Parallel()
	r := newRig(t, external+quick)
	d, s := r.toAnalysis(asking)
	if op := s.GetAvailableOperation(); op != contract.ManualOperation_MANUAL_OPERATION_APPROVE {
		t.Errorf("the page has the button %s", op)
	}
	r.approveAt(s, "has no verdict after 5m0s")
	d.run(s)
	if log := r.piped.text(s.GetId()); !strings.Contains(log, "next: choose APPROVE") ||
		!strings.Contains(log, "approved by jane") {
		t.Errorf("log:\n%s", log)
	}
}

// SKIP ends ANALYSIS at once. No other stage has that button: PipeCD accepts it for this name only.
func TestSkipAnalysis(t *testing.T) {
	t.Parallel()
	r := newRig(t, external+quick)
	d, s := r.toAnalysis(long)
	for _, other := range d.inOrder() {
		want := contract.ManualOperation_MANUAL_OPERATION_NONE
		if other == s {
			want = contract.ManualOperation_MANUAL_OPERATION_SKIP
		}
		if op := other.GetAvailableOperation(); op != want {
			t.Errorf("%s has the button %s, want %s", other.GetName(), op, want)
		}
	}
	r.piped.press(s.GetId(), skip)
	status, err := d.execute(context.Background(), s)
	if log := r.piped.text(s.GetId()); err != nil || status != contract.StageStatus_STAGE_SKIPPED ||
		!strings.Contains(log, "skipped by jane") {
		t.Errorf("%s %v\n%s", status, err, log)
	}
	for _, s := range d.inOrder()[3:] {
		d.run(s)
	}
	r.want(serves("v2"))
}

// paused is a service whose deployments ECS pauses, and its world.
const (
	ruleARN    = "arn:aws:elasticloadbalancing:us-east-1:123456789012:listener-rule/app/web/0123456789abcdef/0123456789abcdef/0123456789abcdef"
	pausedRule = "        rules:\n          - {priority: 1, arn: \"" + ruleARN + "\", path: [\"/*\"], forward: {web-primary: 100, web-canary: 0}}\n"
	pausedFile = `cluster: prod
serviceName: web
launchType: FARGATE
desiredCount: 2
deploymentConfiguration:
  strategy: BLUE_GREEN
  bakeTimeInMinutes: 0
  lifecycleHooks:
    - {targetType: PAUSE, lifecycleStages: [POST_TEST_TRAFFIC_SHIFT]}
loadBalancers:
  - targetGroupArn: ` + group + `web-primary/0123456789abcdef
    containerName: web
    containerPort: 80
    advancedConfiguration:
      alternateTargetGroupArn: ` + group + `web-canary/fedcba9876543210
      productionListenerRule: ` + ruleARN + `
      roleArn: arn:aws:iam::123456789012:role/ecsInfrastructureRole
networkConfiguration:
  awsvpcConfiguration:
    subnets: [subnet-0123456789abcdef0, subnet-0123456789abcdef1]
    assignPublicIp: DISABLED
`
)

func pausedApp() source {
	return source{service: pausedFile, app: `apiVersion: pipecd.dev/v1beta1
kind: Application
spec:
  name: web
  plugins: {ecs: {input: {taskDefinitionFile: taskdef.yaml, serviceDefinitionFile: servicedef.yaml}}}
`}
}

// APPROVE answers the hook at which ECS has paused the deployment.
func TestApproveAPauseOfECS(t *testing.T) {
	t.Parallel()
	r := newRig(t, pausedRule)
	got(r.plugin.DetermineVersions(context.Background(),
		&contract.DetermineVersionsRequest{Input: r.input(nil, pausedApp().write(t))}))(t)
	d := r.begin(pausedApp(), pausedApp())
	s := d.Stages[0]
	if op := s.GetAvailableOperation(); op != contract.ManualOperation_MANUAL_OPERATION_APPROVE {
		t.Errorf("the page has the button %s", op)
	}
	r.approveAt(s, "awaits an answer (APPROVE continues the deployment)")
	d.run(s)
	if log := r.piped.text(s.GetId()); strings.Count(log, "is approved by jane") != 1 ||
		strings.Count(log, "ecs:ContinueServiceDeployment") != 1 {
		t.Errorf("log:\n%s", log)
	}
	if svc := r.service(); svc.RunningCount != 2 {
		t.Errorf("%d tasks run, want 2", svc.RunningCount)
	}
}
