package mode

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
)

const (
	elb     = "arn:aws:elasticloadbalancing:us-east-1:123456789012:"
	primary = elb + "targetgroup/web-primary/0123456789abcdef"
	canary  = elb + "targetgroup/web-canary/0123456789abcdef"
	lb      = elb + "loadbalancer/app/web/0123456789abcdef"
	other   = elb + "loadbalancer/app/api/0123456789abcdef"
)

const threeSteps = `
pipeline:
  stages:
    - {name: ECS_CANARY_ROLLOUT, with: {scale: 50}}
    - {name: ECS_TRAFFIC_ROUTING, with: {canary: 20}}
    - {name: ECS_PRIMARY_ROLLOUT}
    - {name: ECS_TRAFFIC_ROUTING, with: {primary: 100}}
    - {name: ECS_CANARY_CLEAN}
`

// app loads an application; each edit is "old|new" on its files.
func app(t *testing.T, pipeline string, edits ...string) *appfile.Application {
	t.Helper()
	files := map[string]string{
		"sluice.yaml": fmt.Sprintf(`
name: web
region: us-east-1
cluster: prod
input:
  taskDefinitionFile: taskdef.yaml
  serviceDefinitionFile: servicedef.yaml
  targetGroups:
    primary: {targetGroupArn: %q, containerName: web, containerPort: 8080}
    canary: {targetGroupArn: %q, containerName: web, containerPort: 8080}
%s`, primary, canary, pipeline),
		"taskdef.yaml": "family: web\ncontainerDefinitions:\n  - {name: web, image: sim/web:v2, memory: 512, " +
			"portMappings: [{containerPort: 8080, name: http}]}\n",
		"servicedef.yaml": "serviceName: web\ndeploymentController: {type: EXTERNAL}\n",
	}
	for _, e := range edits {
		old, new, _ := strings.Cut(e, "|")
		found := false
		for name, text := range files {
			found = found || strings.Contains(text, old)
			files[name] = strings.ReplaceAll(text, old, new)
		}
		if !found {
			t.Fatalf("nothing to edit: %q", old)
		}
	}
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	a, err := appfile.Load(fsys, "sluice.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// live is a healthy service at v1; each change alters it.
func live(changes ...func(*plan.AWSState)) plan.AWSState {
	l := plan.AWSState{
		Account: "123456789012", Region: "us-east-1",
		Service: &ecstypes.Service{ServiceArn: aws.String("arn:aws:ecs:us-east-1:123456789012:service/prod/web"),
			ClusterArn: aws.String("arn:aws:ecs:us-east-1:123456789012:cluster/prod"), ServiceName: aws.String("web"),
			Status:       aws.String("ACTIVE"),
			DesiredCount: 4, DeploymentController: &ecstypes.DeploymentController{Type: "EXTERNAL"}},
		TaskSets: []sluice.TaskSet{{ID: "ecs-svc/1", Status: "PRIMARY", Revision: "web:1", Desired: 4, Running: 4,
			TargetGroup: primary}},
		Definition: &ecstypes.TaskDefinition{Family: aws.String("web"), Revision: 1,
			ContainerDefinitions: []ecstypes.ContainerDefinition{{Name: aws.String("web"),
				Image: aws.String("sim/web:v1"), Essential: aws.Bool(true), Memory: aws.Int32(512),
				PortMappings: []ecstypes.PortMapping{{ContainerPort: aws.Int32(8080), Name: aws.String("http")}}}}},
		Primary: &plan.GroupAttachment{Name: "web-primary", Balancer: lb, Type: "application", Healthy: 4, Targets: 4,
			Drain: 20 * time.Second},
		Canary: &plan.GroupAttachment{Name: "web-canary", Balancer: lb, Type: "application"},
		Steered: []sluice.Rule{{ARN: "rule-10", Listener: "listener-1", Port: 80, Priority: "10",
			Forward: []sluice.Share{{Group: primary, Weight: 100}, {Group: canary, Weight: 0}}}},
	}
	for _, c := range changes {
		c(&l)
	}
	return l
}

func TestRefusedBeforeAnythingIsWritten(t *testing.T) {
	for name, c := range map[string]struct {
		pipeline string
		edits    []string
		live     plan.AWSState
		err      string
		next     string
	}{
		"canary group missing": {pipeline: threeSteps,
			edits: []string{fmt.Sprintf("    canary: {targetGroupArn: %q, containerName: web, containerPort: 8080}\n|",
				canary)},
			live: live(func(l *plan.AWSState) { l.Canary = nil }),
			err:  "the stage needs a canary target group, but the file names none", next: "targetGroups.canary"},
		"group on another load balancer": {pipeline: threeSteps,
			live: live(func(l *plan.AWSState) { l.Canary.Balancer = other }), err: "belongs to another load balancer",
			next: "create a canary target group"},
		"gateway load balancer": {pipeline: threeSteps,
			live: live(func(l *plan.AWSState) { l.Primary.Type = "gateway" }), err: "of type gateway",
			next: "Network Load Balancer"},
		"primary group behind nothing": {live: live(func(l *plan.AWSState) { l.Primary.Balancer = "" }),
			err: "not attached to a load balancer", next: "listener rule"},
		"no rule": {pipeline: threeSteps,
			live: live(func(l *plan.AWSState) { l.Steered, l.RulesErr = nil, errors.New("no rule forwards to them") }),
			err:  "no rule forwards to them"},
		"another controller in AWS": {pipeline: threeSteps,
			live: live(func(l *plan.AWSState) { l.Service.DeploymentController.Type = "ECS" }),
			err:  "the service has deployment controller ECS",
			next: "update-service --cluster prod --service web --deployment-controller type=EXTERNAL"},
		"a canary with another controller in the file": {pipeline: threeSteps, edits: []string{"EXTERNAL|ECS"},
			live: live(), err: "has deployment controller EXTERNAL, but the file requests ECS",
			next: "type: EXTERNAL"},
		"a canary with no controller in the file": {pipeline: threeSteps,
			edits: []string{"deploymentController: {type: EXTERNAL}|desiredCount: 4"}, live: live(),
			err: "the file requests ECS", next: "type: EXTERNAL"},
		"rolling in the file, EXTERNAL in AWS": {edits: []string{"EXTERNAL|ECS"}, live: live(),
			err: "has deployment controller EXTERNAL, but the file requests ECS", next: "type=ECS"},
		"CodeDeploy in the file, ECS in AWS": {edits: []string{"EXTERNAL|CODE_DEPLOY"},
			live: live(func(l *plan.AWSState) { l.Service.DeploymentController.Type = "ECS" }),
			err:  "the file requests CODE_DEPLOY", next: "set `deploymentController: {type: ECS}`"},
		"requests to no canary": {pipeline: "\npipeline:\n  stages:\n    - {name: ECS_TRAFFIC_ROUTING, with: " +
			"{canary: 10}}\n", live: live(), err: "no earlier stage starts a canary", next: "ECS_CANARY_ROLLOUT"},
		"gates of the file and no wait": {pipeline: threeSteps + "gates: [{https: {url: https://web.example/}}]\n",
			live: live(), err: "is never evaluated: no stage waits while the canary gets requests", next: "WAIT or ANALYSIS"},
		"one group twice": {edits: []string{"web-canary|web-primary"}, live: live(),
			err: "the same target group"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Make(app(t, c.pipeline, c.edits...), c.live, Options{})
			if err == nil || !strings.Contains(err.Error(), c.err) || !strings.Contains(sluice.NextStep(err), c.next) {
				t.Errorf("error %v\nnext %q\nwant %q, next %q", err, sluice.NextStep(err), c.err, c.next)
			}
		})
	}
}

func TestPlanListsEveryStageWithItsWrites(t *testing.T) {
	p, err := Make(app(t, threeSteps), live(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Stages) != 5 || p.From != "web:1" || p.To != "web" || p.QuickSync || p.Drain != 20*time.Second {
		t.Errorf("%d stages, %s -> %s, quick sync %v, drain %s", len(p.Stages), p.From, p.To, p.QuickSync, p.Drain)
	}
	routing := p.Stages[1]
	if !routing.MayWrite(sluice.Write{Operation: "elasticloadbalancing:ModifyRule", Resource: "rule-10"}) ||
		routing.Routes[0].Weights != sluice.CanaryShare(20) {
		t.Errorf("routing: %v", routing)
	}
	if slices.ContainsFunc(p.Stages[0].Writes,
		func(w sluice.Write) bool { return w.Operation == "ecs:UpdateService" }) {
		t.Error("the canary rollout may change what the running primary would notice")
	}
	if slices.ContainsFunc(p.Stages[2].Writes, func(w sluice.Write) bool {
		return w.Operation == "ecs:DeleteTaskSet" && w.Resource != plan.PreviousPrimarySet
	}) {
		t.Errorf("the primary rollout may delete more than the old primary: %v", p.Stages[2].Writes)
	}
	if p.Rollback.Index != 5 || len(p.Rollback.Writes) == 0 {
		t.Errorf("rollback %+v", p.Rollback)
	}
}

func TestFirstDeploymentIsAQuickSyncUnlessAskedOtherwise(t *testing.T) {
	first := live(func(l *plan.AWSState) { l.Service, l.TaskSets, l.Definition = nil, nil, nil })
	p, err := Make(app(t, threeSteps), first, Options{})
	if err != nil || !p.QuickSync ||
		!slices.ContainsFunc(p.Warnings,
			func(w string) bool { return strings.Contains(w, "a rollback leaves the service without") }) {
		t.Fatalf("%v, warnings %q", err, p.Warnings)
	}
	if p, err = Make(app(t, threeSteps), first, Options{Pipeline: true}); err != nil || p.QuickSync {
		t.Errorf("with --pipeline: %v", err)
	}
}

func TestFirstDeploymentListsAllThatIsCreated(t *testing.T) {
	first := live(func(l *plan.AWSState) { l.Service, l.TaskSets, l.Definition = nil, nil, nil })
	p, err := Make(app(t, threeSteps), first, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range p.Changes {
		got = append(got, fmt.Sprintf("%s %s %s: %s", c.Kind, c.Of, c.Path, c.Want))
	}
	for _, want := range []string{"add task definition family: web",
		"add task definition containerDefinitions[web].image: sim/web:v2",
		"add task definition containerDefinitions[web].memory: 512", "add service serviceName: web",
		"add service deploymentController: {type: EXTERNAL}"} {
		if !slices.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
}

func TestNoChangeShowsAsNone(t *testing.T) {
	p, err := Make(app(t, threeSteps, "v2|v1"), live(), Options{})
	if err != nil || p.HasChanges() {
		t.Errorf("%v, changes %v", err, p.Changes)
	}
	stray := live(func(l *plan.AWSState) { l.Steered[0].Forward[1].Weight = 10 })
	if p, err = Make(app(t, threeSteps, "v2|v1"), stray, Options{}); err != nil || !p.HasChanges() {
		t.Errorf("weight on the canary is no change? %v", err)
	}
}

func TestWarnings(t *testing.T) {
	for name, c := range map[string]struct {
		pipeline string
		live     plan.AWSState
		want     string
	}{
		"canary group on no listener": {threeSteps, live(func(l *plan.AWSState) { l.Canary.Balancer = "" }),
			"no listener forwards to the canary"},
		"too many for the canary": {strings.Replace(strings.Replace(threeSteps, "50", "10", 1), "canary: 20",
			"canary: 80", 1), live(), "80% of the requests to 1 task of canary"},
		"somebody else deploys": {threeSteps, live(func(l *plan.AWSState) { l.Claim = "slc-x 2030-01-01T00:00:00Z" }),
			"another deployment has the claim on the service"},
		"a task set that is not ours": {threeSteps, live(func(l *plan.AWSState) {
			l.TaskSets = append(l.TaskSets, sluice.TaskSet{ID: "ecs-svc/2", Status: "ACTIVE", Revision: "web:0"})
		}), "sluice did not create it and does not change it"},
		"the canary is left": {strings.Replace(threeSteps, "    - {name: ECS_CANARY_CLEAN}\n", "", 1), live(),
			"leaves the canary running"},
		"a long drain": {threeSteps, live(func(l *plan.AWSState) { l.Primary.Drain = 300 * time.Second }),
			"drains for 5m0s"},
		"no healthy target": {threeSteps, live(func(l *plan.AWSState) { l.Primary.Healthy = 0 }), "no healthy target"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Make(app(t, c.pipeline), c.live, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(p.Warnings, func(w string) bool { return strings.Contains(w, c.want) }) {
				t.Errorf("warnings %q, want %q", p.Warnings, c.want)
			}
		})
	}
}

func TestDefinitionsComeBackFromThePlan(t *testing.T) {
	a := app(t, threeSteps)
	p, err := Make(a, live(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	task, err := p.DecodeTask()
	if err != nil || *task.Input.ContainerDefinitions[0].Image != "sim/web:v2" {
		t.Errorf("task definition %+v: %v", task, err)
	}
	service, err := p.DecodeService()
	if err != nil || service.Given["desiredCount"] || service.Input.DesiredCount != nil {
		t.Errorf("a desired count that the file leaves out came back: %+v, %v", service, err)
	}
}

// Gates of the whole file need a stage that waits: one WAIT while the canary gets requests is enough.
func TestGatesOfTheFileWithAWait(t *testing.T) {
	waiting := strings.Replace(threeSteps, "    - {name: ECS_PRIMARY", "    - {name: WAIT, with: {duration: 5m}}\n    - {name: ECS_PRIMARY", 1)
	p, err := Make(app(t, waiting+"gates: [{https: {url: https://web.example/}}]\n"), live(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, whole := p.GatesOf(2); len(whole) != 1 {
		t.Errorf("the WAIT has %d gates of the file, want 1", len(whole))
	}
}
