package mode

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
)

const blueGreenFile = "|deploymentController: {type: CODE_DEPLOY}\nloadBalancers:\n  - {targetGroupArn: \"" + primary +
	"\", containerName: web, containerPort: 8080}\n"

// blueGreenApp is an application that CodeDeploy deploys; each edit is "old|new".
func blueGreenApp(t *testing.T, top string, edits ...string) *appfile.Application {
	t.Helper()
	return app(t, top, append([]string{"deploymentController: {type: EXTERNAL}\n" + blueGreenFile}, edits...)...)
}

// blueGreenLive is a service at v1 that CodeDeploy deploys.
func blueGreenLive(changes ...func(*plan.AWSState)) plan.AWSState {
	set := ecstypes.TaskSet{Id: aws.String("ecs-svc/1"), Status: aws.String("PRIMARY"),
		PlatformVersion: aws.String("1.4.0"),
		LoadBalancers: []ecstypes.LoadBalancer{{TargetGroupArn: aws.String(canary), ContainerName: aws.String("web"),
			ContainerPort: aws.Int32(8080)}}}
	base := func(l *plan.AWSState) {
		l.Service.DeploymentController.Type = "CODE_DEPLOY"
		l.Service.TaskSets = []ecstypes.TaskSet{set}
		l.Deployer = &plan.Deployer{Application: "shop", Group: "web", Config: "CodeDeployDefault.ECSAllAtOnce",
			TargetGroups:   []string{"web-primary", "web-canary"},
			Listener:       elb + "listener/app/web/0123456789abcdef/0123456789abcdef",
			RollbackEvents: []string{"DEPLOYMENT_FAILURE"}}
	}
	return live(append([]func(*plan.AWSState){base}, changes...)...)
}

func TestRefusedUnderCodeDeploy(t *testing.T) {
	for name, c := range map[string]struct {
		top   string
		edits []string
		live  plan.AWSState
		o     Options
		err   string
		next  string
	}{
		"circuit breaker": {edits: []string{"serviceName: web|serviceName: web\ndeploymentConfiguration: " +
			"{deploymentCircuitBreaker: {enable: false, rollback: false}}"},
			live: blueGreenLive(),
			err:  "the deploymentCircuitBreaker feature can only be used with ECS rolling updates",
			next: "delete the entire element"},
		"circuit breaker of a service to create": {edits: []string{"serviceName: web|serviceName: " +
			"web\ndeploymentConfiguration: {deploymentCircuitBreaker: {enable: true, rollback: true}}"},
			live: plan.AWSState{Account: "123456789012", Region: "us-east-1"},
			err:  "can only be used with ECS rolling updates"},
		"no load balancer": {edits: []string{"loadBalancers:\n  - {targetGroupArn: \"" + primary +
			"\", containerName: web, containerPort: 8080}\n|"},
			live: blueGreenLive(), err: "has no load balancer", next: "add loadBalancers"},
		"stages of PipeCD": {top: threeSteps, live: blueGreenLive(),
			err: "CodeDeploy manages its task sets and traffic", next: "codedeploy.deploymentConfigName"},
		"what nobody changes": {edits: []string{"serviceName: web|serviceName: web\nlaunchType: " +
			"EC2\nschedulingStrategy: DAEMON"}, live: blueGreenLive(),
			err: "changes launchType, schedulingStrategy, but AWS cannot", next: "only a new service can have these values"},
		"another target group": {edits: []string{"targetgroup/web-primary/0123456789abcdef\", " +
			"containerName|targetgroup/api/0123456789abcdef\", containerName"}, live: blueGreenLive(),
			err: "target group api is not in deployment group shop/web, which has web-primary, web-canary"},
		"no deployment group": {live: blueGreenLive(func(l *plan.AWSState) {
			l.Deployer, l.DeployerErr = nil,
				errors.New("none of the groups deploys it")
		}), err: "none of the groups deploys it"},
		"rollback events elsewhere": {edits: []string{"CODE_DEPLOY|EXTERNAL"}, live: live(),
			o:   Options{RollbackEvents: []string{"DEPLOYMENT_FAILURE"}},
			err: "rollback events need CodeDeploy", next: "remove --rollback-events"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Make(blueGreenApp(t, c.top, c.edits...), c.live, c.o)
			if err == nil || !strings.Contains(err.Error(), c.err) || !strings.Contains(sluice.NextStep(err), c.next) {
				t.Errorf("%v; next: %s", err, sluice.NextStep(err))
			}
		})
	}
}

// Attributes are the service's own: they are changed, though nothing deploys it.
func TestAttributesNeedNoDeploymentGroup(t *testing.T) {
	alone := blueGreenLive(func(l *plan.AWSState) {
		l.Deployer, l.DeployerErr = nil,
			errors.New("none of the groups deploys it")
	})
	p, err := Make(blueGreenApp(t, "", "serviceName: web|serviceName: web\nhealthCheckGracePeriodSeconds: 60",
		"image: sim/web:v2|image: sim/web:v1"), alone, Options{})
	if err != nil || !strings.Contains(strings.Join(p.Warnings, "\n"), "none of the groups deploys it") ||
		strings.Contains(writesOf(p.Stages[0]), "codedeploy:") {
		t.Fatalf("%v %+v", err, p)
	}
}

func writesOf(s plan.Stage) string {
	var all []string
	for _, w := range s.Writes {
		all = append(all, w.Operation+" "+w.Resource)
	}
	return strings.Join(all, "\n")
}

func TestPlanOfADeploymentByCodeDeploy(t *testing.T) {
	attributes := "serviceName: web|serviceName: web\nhealthCheckGracePeriodSeconds: 60"
	for name, c := range map[string]struct {
		edits         []string
		live          plan.AWSState
		o             Options
		forward, back string
		finish        int
	}{
		"a new revision": {live: blueGreenLive(),
			forward: "ecs:RegisterTaskDefinition web\ncodedeploy:CreateDeployment shop/web",
			back: "codedeploy:StopDeployment CodeDeploy deployment of ours\ncodedeploy:CreateDeployment shop/web\n" +
				"ecs:RegisterTaskDefinition web"},
		"a registered revision": {live: blueGreenLive(func(l *plan.AWSState) { l.Identical = "web:2" }),
			forward: "codedeploy:CreateDeployment shop/web",
			back: "codedeploy:StopDeployment CodeDeploy deployment of ours\ncodedeploy:CreateDeployment shop/web\n" +
				"ecs:RegisterTaskDefinition web"},
		"attributes too": {edits: []string{attributes}, live: blueGreenLive(), finish: 1,
			forward: "ecs:RegisterTaskDefinition web\necs:UpdateService prod/web\necs:TagResource " +
				"prod/web\ncodedeploy:CreateDeployment shop/web",
			back: "ecs:UpdateService prod/web\ncodedeploy:StopDeployment CodeDeploy deployment of " +
				"ours\ncodedeploy:CreateDeployment shop/web\necs:RegisterTaskDefinition web\necs:TagResource prod/web"},
		"attributes alone": {edits: []string{attributes, "sim/web:v2|sim/web:v1"},
			live: blueGreenLive(func(l *plan.AWSState) { l.Identical = "web:1" }), finish: 1,
			forward: "ecs:UpdateService prod/web\necs:TagResource prod/web",
			back:    "ecs:UpdateService prod/web\necs:TagResource prod/web"},
		"another platform alone": {edits: []string{"sim/web:v2|sim/web:v1",
			"serviceName: web|serviceName: web\nplatformVersion: 1.3.0"},
			live:    blueGreenLive(func(l *plan.AWSState) { l.Identical = "web:1" }),
			forward: "codedeploy:CreateDeployment shop/web",
			back:    "codedeploy:StopDeployment CodeDeploy deployment of ours\ncodedeploy:CreateDeployment shop/web"},
		"nothing, forced": {edits: []string{"sim/web:v2|sim/web:v1"},
			live: blueGreenLive(func(l *plan.AWSState) { l.Identical = "web:1" }), o: Options{Force: true},
			forward: "codedeploy:CreateDeployment shop/web",
			back:    "codedeploy:StopDeployment CodeDeploy deployment of ours\ncodedeploy:CreateDeployment shop/web"},
		"a group that waits": {live: blueGreenLive(func(l *plan.AWSState) { l.Deployer.Ready = time.Hour }),
			forward: "ecs:RegisterTaskDefinition web\ncodedeploy:CreateDeployment " +
				"shop/web\ncodedeploy:ContinueDeployment CodeDeploy deployment of ours",
			back: "codedeploy:StopDeployment CodeDeploy deployment of ours\ncodedeploy:CreateDeployment " +
				"shop/web\ncodedeploy:ContinueDeployment CodeDeploy deployment that returns\necs:RegisterTaskDefinition web"},
		"a service that does not exist": {live: plan.AWSState{Account: "123456789012", Region: "us-east-1"}, finish: 1,
			forward: "ecs:RegisterTaskDefinition web\necs:CreateService prod/web\necs:TagResource prod/web",
			back:    "ecs:TagResource prod/web"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Make(blueGreenApp(t, "", c.edits...), c.live, c.o)
			if err != nil {
				t.Fatal(err)
			}
			if len(p.Stages) != 1 || writesOf(p.Stages[0]) != c.forward || writesOf(p.Rollback) != c.back ||
				len(p.Finish) != c.finish || !p.HasChanges() {
				t.Errorf("%s\n\n%s\n\n%v %v", writesOf(p.Stages[0]), writesOf(p.Rollback), p.Finish, p.Changes)
			}
			data, err := json.Marshal(p)
			var again plan.Plan
			if err != nil || json.Unmarshal(data, &again) != nil || again.CodeDeploy.Deploys != p.CodeDeploy.Deploys {
				t.Errorf("the plan does not survive as JSON: %v", err)
			}
		})
	}
}

func TestNothingChangesUnderCodeDeploy(t *testing.T) {
	p, err := Make(blueGreenApp(t, "", "sim/web:v2|sim/web:v1"),
		blueGreenLive(func(l *plan.AWSState) { l.Identical = "web:1" }), Options{})
	if err != nil || p.HasChanges() || p.CodeDeploy.Deploys {
		t.Errorf("%v %+v", err, p.Changes)
	}
}

// The pair's target groups take turns, so that the file's may be the other one.
func TestWhatCodeDeployIsAskedFor(t *testing.T) {
	top := "codedeploy: {deploymentConfigName: Half}\nappspec: {Hooks: [{AfterAllowTestTraffic: look}]}\n"
	p, err := Make(blueGreenApp(t, top),
		blueGreenLive(func(l *plan.AWSState) {
			l.Identical, l.Deployer.Terminate, l.Deployer.Running = "web:2", time.Hour,
				"d-1"
		}),
		Options{RollbackEvents: []string{"DEPLOYMENT_STOP_ON_ALARM"}})
	if err != nil {
		t.Fatal(err)
	}
	c := p.CodeDeploy
	if c.Name() != "shop/web" || c.ConfigUsed != "Half" ||
		!slices.Equal(c.RollsBackOn, []string{"DEPLOYMENT_STOP_ON_ALARM"}) || len(c.AppSpec) != 64 ||
		len(c.Hooks) != 1 {
		t.Errorf("%+v", c)
	}
	for _, want := range []string{"d-1", "task set for 1h", "no test listener"} {
		if !slices.ContainsFunc(p.Warnings, func(w string) bool { return strings.Contains(w, want) }) {
			t.Errorf("no warning of %s: %q", want, p.Warnings)
		}
	}
}
