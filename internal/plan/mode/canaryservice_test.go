package mode

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// rollingLive is live with controller ECS, in the primary's target group.
func rollingLive(changes ...func(*plan.AWSState)) plan.AWSState {
	base := func(l *plan.AWSState) {
		l.Service.DeploymentController.Type = "ECS"
		l.Service.LoadBalancers = []ecstypes.LoadBalancer{{TargetGroupArn: aws.String(primary),
			ContainerName: aws.String("web"), ContainerPort: aws.Int32(8080)}}
		l.TaskSets = nil
	}
	return live(append([]func(*plan.AWSState){base}, changes...)...)
}

func TestCanaryServiceIsRefusedBeforeAnythingIsWritten(t *testing.T) {
	const ecs = "EXTERNAL|ECS"
	connected := "type: ECS}|type: ECS}\nserviceConnectConfiguration: {enabled: true, namespace: shop, services: " +
		"[{portName: http}]}"
	for name, c := range map[string]struct {
		pipeline string
		edits    []string
		live     plan.AWSState
		options  Options
		err      string
		next     string
	}{
		"hosting that the controller cannot carry": {edits: []string{"targetGroups:|hosting: services\n  " +
			"targetGroups:"}, live: live(), err: "needs deployment controller ECS", next: "hosting: taskSets"},
		"task sets of a rolling service": {edits: []string{ecs,
			"targetGroups:|hosting: taskSets\n  targetGroups:"}, live: rollingLive(),
			err: "needs deployment controller EXTERNAL", next: "hosting: services"},
		"a name too long": {pipeline: threeSteps, edits: []string{ecs, "serviceName: web|serviceName: " +
			strings.Repeat("w", 249)}, live: rollingLive(),
			err: "has 256 characters", next: "shorter service name"},
		"a daemon": {pipeline: threeSteps, edits: []string{ecs},
			live: rollingLive(func(l *plan.AWSState) { l.Service.SchedulingStrategy = "DAEMON" }), err: "DAEMON",
			next: "--quick-sync"},
		"a strategy of ECS's own": {pipeline: threeSteps, edits: []string{ecs}, live: rollingLive(func(l *plan.AWSState) {
			l.Service.DeploymentConfiguration = &ecstypes.DeploymentConfiguration{Strategy: "LINEAR"}
		}), err: "with deployment strategy LINEAR", next: "ROLLING"},
		"a kept primary": {pipeline: strings.ReplaceAll(threeSteps, "{name: ECS_PRIMARY_ROLLOUT}",
			"{name: ECS_PRIMARY_ROLLOUT, with: {keepOld: true}}"), edits: []string{ecs}, live: rollingLive(),
			err: "keeps no old tasks", next: "keepOld"},
		"nothing to stand beside": {pipeline: threeSteps, edits: []string{ecs},
			live:    rollingLive(func(l *plan.AWSState) { l.Service, l.Definition = nil, nil }),
			options: Options{Pipeline: true}, err: "no version is running", next: "--pipeline"},
		"a stranger of that name": {pipeline: threeSteps, edits: []string{ecs},
			live: rollingLive(func(l *plan.AWSState) { l.Beside = &ecstypes.Service{Status: aws.String("ACTIVE")} }),
			err:  "sluice did not create that service", next: "another name"},
		"a canary service of the pipeline that was removed": {edits: []string{ecs},
			live: rollingLive(func(l *plan.AWSState) {
				l.Beside = &ecstypes.Service{Status: aws.String("ACTIVE"), ServiceName: aws.String("web-canary"),
					TaskDefinition: aws.String("web:2"), RunningCount: 2, Tags: []ecstypes.Tag{{Key: aws.String(plan.CanaryTag),
						Value: aws.String("slc-01m85at22fy00xkjt5078yka4m/0 ECS_CANARY_ROLLOUT/create")}}}
			}), err: "canary service web-canary of deployment slc-01m85at22fy00xkjt5078yka4m still exists (web:2, 2 running)",
			next: "with the pipeline"},
		"another target group": {pipeline: threeSteps, edits: []string{ecs},
			live: rollingLive(func(l *plan.AWSState) { l.Service.LoadBalancers[0].TargetGroupArn = aws.String(other) }),
			err:  "not in the primary target group", next: "targetGroups.primary"},
		"callers through Service Connect": {pipeline: threeSteps, edits: []string{ecs, connected}, live: rollingLive(),
			err: "through Service Connect", next: "BLUE_GREEN, LINEAR or CANARY"},
		"shares of what nobody calls": {pipeline: threeSteps,
			edits: []string{ecs, "targetGroups:|accessType: NONE\n  targetGroups:"}, live: rollingLive(),
			err: "there is no traffic to shift", next: "accessType"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Make(app(t, c.pipeline, c.edits...), c.live, c.options)
			if err == nil || !strings.Contains(err.Error(), c.err) || !strings.Contains(sluice.NextStep(err), c.next) {
				t.Errorf("error %v\nnext %q\nwant %q, next %q", err, sluice.NextStep(err), c.err, c.next)
			}
		})
	}
}

func TestPlanOfACanaryService(t *testing.T) {
	a := app(t, threeSteps, "EXTERNAL|ECS")
	a.Service.Input.ServiceConnectConfiguration = &ecstypes.ServiceConnectConfiguration{Enabled: true,
		Services: []ecstypes.ServiceConnectService{{PortName: aws.String("http")}}}
	a.Service.Given["serviceConnectConfiguration"], a.AccessGiven = true, true
	configuration := &ecstypes.DeploymentConfiguration{
		Alarms:         &ecstypes.DeploymentAlarms{Enable: true, AlarmNames: []string{"errors"}},
		LifecycleHooks: []ecstypes.DeploymentLifecycleHook{{}}}
	a.Service.Input.DeploymentConfiguration, a.Service.Given["deploymentConfiguration"] = configuration, true
	p, err := Make(a, rollingLive(func(l *plan.AWSState) {
		l.Service.DeploymentConfiguration = configuration
		l.Service.LoadBalancers = append(l.Service.LoadBalancers,
			ecstypes.LoadBalancer{TargetGroupArn: aws.String(other)})
	}), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if p.Hosting != appfile.Services {
		t.Errorf("hosting %q", p.Hosting)
	}
	for i, want := range map[int]string{0: "ecs:CreateService prod/web-canary", 2: "ecs:UpdateService prod/web",
		4: "ecs:DeleteService prod/web-canary"} {
		if !strings.Contains(writeList(p.Stages[i]), want) {
			t.Errorf("stage %d lacks %s:\n%s", i+1, want, writeList(p.Stages[i]))
		}
	}
	for _, want := range []string{"ecs:StopServiceDeployment service deployment of ours",
		"ecs:DeleteService prod/web-canary", "ecs:UpdateService prod/web\n"} {
		if !strings.Contains(writeList(p.Rollback), want) {
			t.Errorf("the rollback lacks %s:\n%s", want, writeList(p.Rollback))
		}
	}
	told := strings.Join(p.Warnings, "\n")
	for _, want := range []string{"endpoints of Service Connect (http)", "1 further target group", "alarms (errors)",
		"1 lifecycle hook", "sluice does not shift callers of Service Connect"} {
		if !strings.Contains(told, want) {
			t.Errorf("no warning of %s:\n%s", want, told)
		}
	}
}

func writeList(s plan.Stage) string {
	var b strings.Builder
	for _, w := range s.Writes {
		b.WriteString(w.Operation + " " + w.Resource + "\n")
	}
	return b.String()
}

// PipeCD v0 has no word for a service that nobody calls.
func TestELBWithoutATargetGroupIsNoAccessInPipeCDv0(t *testing.T) {
	a := app(t, "")
	a.Primary, a.Canary = nil, nil
	if _, err := Make(a, live(), Options{}); err == nil ||
		!strings.Contains(err.Error(), "needs a primary target group") {
		t.Errorf("sluice.yaml: %v", err)
	}
	a.Format = appfile.PipeCDv0
	p, err := Make(a, live(), Options{})
	if err != nil || p.Access != sluice.NoAccess {
		t.Errorf("PipeCD v0: %+v %v", p, err)
	}
}
