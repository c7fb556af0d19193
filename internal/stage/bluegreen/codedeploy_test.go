package bluegreen_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscd "github.com/aws/aws-sdk-go-v2/service/codedeploy"
	cdtypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/history"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
	"github.com/sluice-ecs/sluice/internal/survey"
)

// shop is the deployment group of the service, and what it waits for.
type shop struct {
	config    string
	rollback  []cdtypes.AutoRollbackEvent
	ready     time.Duration
	terminate time.Duration
}

// shiftFiles is an application that CodeDeploy deploys; more goes into its service
// definition.
func shiftFiles(b *stagetest.Bench, image, more string) fstest.MapFS {
	files := b.Files(image, "")
	files["servicedef.yaml"] = &fstest.MapFile{Data: []byte(fmt.Sprintf(`
serviceName: web
cluster: prod
launchType: FARGATE
deploymentController: {type: CODE_DEPLOY}
networkConfiguration: {awsvpcConfiguration: {subnets: [%s]}}
loadBalancers: [{targetGroupArn: %q, containerName: web, containerPort: 8080}]
%s`, strings.Join(b.Subnets(), ", "), b.Primary, more))}
	return files
}

func codeDeployClient(b *stagetest.Bench) *awscd.Client { return awscd.NewFromConfig(b.Sim.Config()) }

// shifts is a world in which CodeDeploy deploys the service, which serves v1. The
// service is made by a deployment of sluice's too.
func shifts(t testing.TB, s shop, f func(*stagetest.Bench)) {
	t.Helper()
	stagetest.Run(t, stagetest.Options{NoService: true}, func(b *stagetest.Bench) {
		end := b.Deploy(shiftFiles(b, "sim/web:v1", "desiredCount: 4\n"))
		if end.Outcome != sluice.Succeeded {
			b.Fatalf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
		}
		createShop(b, s)
		b.AttachCallers()
		b.Events, b.Calls = nil, nil
		f(b)
	})
}

// The first version of a service never works. CodeDeploy has none to restore, so nothing is rolled back.
func TestFirstVersionThatFailsIsNotRolledBack(t *testing.T) {
	t.Parallel()
	stagetest.Run(t, stagetest.Options{NoService: true}, func(b *stagetest.Bench) {
		end := b.Deploy(shiftFiles(b, "sim/web:v1-crash-after-5s-exit-3", "desiredCount: 4\n"))
		if end.Outcome != sluice.Failed || !strings.HasSuffix(end.Cause, "none is restored: web:1 stays") {
			b.Errorf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
		}
	})
}

// createShop makes the application and the deployment group.
func createShop(b *stagetest.Bench, s shop) {
	b.Helper()
	ctx, cd := context.Background(), codeDeployClient(b)
	stagetest.Got(cd.CreateApplication(ctx, &awscd.CreateApplicationInput{ApplicationName: aws.String("shop"),
		ComputePlatform: cdtypes.ComputePlatformEcs}))(b)
	ready := &cdtypes.DeploymentReadyOption{ActionOnTimeout: cdtypes.DeploymentReadyActionContinueDeployment}
	if s.ready > 0 {
		ready = &cdtypes.DeploymentReadyOption{ActionOnTimeout: cdtypes.DeploymentReadyActionStopDeployment,
			WaitTimeInMinutes: int32(s.ready / time.Minute)}
	}
	in := &awscd.CreateDeploymentGroupInput{ApplicationName: aws.String("shop"), DeploymentGroupName: aws.String("web"),
		ServiceRoleArn: aws.String("arn:aws:iam::123456789012:role/CodeDeployRole"),
		EcsServices:    []cdtypes.ECSService{{ClusterName: aws.String("prod"), ServiceName: aws.String("web")}},
		LoadBalancerInfo: &cdtypes.LoadBalancerInfo{TargetGroupPairInfoList: []cdtypes.TargetGroupPairInfo{{
			TargetGroups: []cdtypes.TargetGroupInfo{{Name: aws.String("web-primary")},
				{Name: aws.String("web-canary")}},
			ProdTrafficRoute: &cdtypes.TrafficRoute{ListenerArns: []string{b.Listener}}}}},
		DeploymentStyle: &cdtypes.DeploymentStyle{DeploymentType: cdtypes.DeploymentTypeBlueGreen,
			DeploymentOption: cdtypes.DeploymentOptionWithTrafficControl},
		BlueGreenDeploymentConfiguration: &cdtypes.BlueGreenDeploymentConfiguration{DeploymentReadyOption: ready,
			TerminateBlueInstancesOnDeploymentSuccess: &cdtypes.BlueInstanceTerminationOption{Action: cdtypes.InstanceActionTerminate, TerminationWaitTimeInMinutes: int32(s.terminate / time.Minute)}}}
	if s.config != "" {
		in.DeploymentConfigName = aws.String(s.config)
	}
	if len(s.rollback) > 0 {
		in.AutoRollbackConfiguration = &cdtypes.AutoRollbackConfiguration{Enabled: true, Events: s.rollback}
	}
	stagetest.Got(cd.CreateDeploymentGroup(ctx, in))(b)
}

const (
	shiftedV1 = "PRIMARY sim/web:v1 4 running"
	shiftedV2 = "PRIMARY sim/web:v2 4 running"
)

// serviceText is the service as somebody would tell it, once what drains is gone: task
// sets, tags, and the deployments of CodeDeploy that sluice or anybody made.
func serviceText(b *stagetest.Bench) string {
	b.Helper()
	stagetest.Must(b, b.Clock.Sleep(context.Background(), 2*time.Minute))
	out := stagetest.Got(b.ECS.DescribeServices(context.Background(),
		&awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
			Services: []string{"web"}, Include: []ecstypes.ServiceField{ecstypes.ServiceFieldTags}}))(b)
	var lines []string
	for _, ts := range out.Services[0].TaskSets {
		td := stagetest.Got(b.ECS.DescribeTaskDefinition(context.Background(),
			&awsecs.DescribeTaskDefinitionInput{TaskDefinition: ts.TaskDefinition}))(b)
		lines = append(lines, fmt.Sprintf("%s %s %d running", *ts.Status,
			*td.TaskDefinition.ContainerDefinitions[0].Image, ts.RunningCount))
	}
	for _, tag := range out.Services[0].Tags {
		lines = append(lines, "tag "+*tag.Key)
	}
	slices.Sort(lines)
	return strings.Join(lines, "; ")
}

// countShifts is how many deployments people and sluice made, rollbacks left out.
func countShifts(b *stagetest.Bench) (n int) {
	b.Helper()
	list := stagetest.Got(codeDeployClient(b).ListDeployments(context.Background(),
		&awscd.ListDeploymentsInput{ApplicationName: aws.String("shop"), DeploymentGroupName: aws.String("web")}))(b)
	for _, id := range list.Deployments {
		d := stagetest.Got(codeDeployClient(b).GetDeployment(context.Background(),
			&awscd.GetDeploymentInput{DeploymentId: aws.String(id)}))(b)
		if d.DeploymentInfo.Creator == cdtypes.DeploymentCreatorUser {
			n++
		}
	}
	return n
}

func expectServiceEnd(b *stagetest.Bench, end engine.RunResult, outcome sluice.Outcome, cause, state string) {
	b.Helper()
	if stands := serviceText(b); end.Outcome != outcome || !strings.Contains(end.Cause, cause) || stands != state {
		b.Errorf("%s: %s; %s\nwant %s: …%s…; %s\n%s", end.Outcome, end.Cause, stands, outcome, cause, state,
			b.EventLog())
	}
	b.ExpectNoneLost()
}

func TestCodeDeployGoesFromV1ToV2AndBack(t *testing.T) {
	for _, config := range []string{"", "CodeDeployDefault.ECSCanary10Percent5Minutes",
		"CodeDeployDefault.ECSLinear10PercentEvery1Minutes"} {
		t.Run(config, func(t *testing.T) {
			shifts(t, shop{config: config}, func(b *stagetest.Bench) {
				end := b.Deploy(shiftFiles(b, "sim/web:v2", ""))
				expectServiceEnd(b, end, sluice.Succeeded, "", shiftedV2)
				if n := countShifts(b); n != 1 {
					b.Errorf("%d deployments of CodeDeploy", n)
				}
				ctx := context.Background()
				stagetest.Must(b, b.Engine.Reopen(ctx, end.ID))
				stagetest.Must(b, b.Engine.SendCommand(ctx, end.ID, journal.Rollback, 0, "ann"))
				expectServiceEnd(b, stagetest.Got(b.Engine.Run(ctx, end.ID, engine.Options{}))(b), sluice.RolledBack,
					"", shiftedV1)
				if n := countShifts(b); n != 2 {
					b.Errorf("%d deployments of CodeDeploy, want ours and its return", n)
				}
			})
		})
	}
}

// A listener that a person adds after the plan forwards to the group that CodeDeploy empties: neither the deployment
// nor its rollback ends as if callers got a version.
func TestListenerThatCodeDeployDoesNotWrite(t *testing.T) {
	for _, rollsBack := range []bool{false, true} {
		shifts(t, shop{}, func(b *stagetest.Bench) {
			ctx := context.Background()
			do := func() { b.AddListener(443, stagetest.ForwardTo(b.Primary)) }
			if !rollsBack {
				b.AfterWrite("codedeploy:CreateDeployment", time.Second, do)
			}
			end := b.Deploy(shiftFiles(b, "sim/web:v2", ""))
			if rollsBack {
				b.AddListener(443, stagetest.ForwardTo(b.Canary))
				stagetest.Must(b, b.Engine.Reopen(ctx, end.ID))
				stagetest.Must(b, b.Engine.SendCommand(ctx, end.ID, journal.Rollback, 0, "ann"))
				end = stagetest.Got(b.Engine.Run(ctx, end.ID, engine.Options{}))(b)
			}
			if end.Outcome != sluice.Failed ||
				!strings.Contains(end.Cause, "callers do not get it: default rule of port 443 sends 100 % of the requests to ") {
				b.Errorf("%s: %q\n%s", end.Outcome, end.Cause, b.EventLog())
			}
			if got := b.CallersOfPort(443); got != "503" {
				b.Errorf("callers of port 443 get %q, want 503", got)
			}
		})
	}
}

// rollBackAt runs the deployment until an event, then asks for its rollback.
func rollBackAt(b *stagetest.Bench, files fstest.MapFS, name, status string) engine.RunResult {
	b.Helper()
	ctx, id, told := context.Background(), b.Start(files), false
	b.Engine.OnEvent = func(e sluice.Envelope) {
		b.Events = append(b.Events, e)
		if l, ok := e.Open().(sluice.LifecycleChanged); ok && !told && l.Name == name && l.Status == status {
			told = true
			stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
		}
	}
	end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
	if !told {
		b.Errorf("%s was never %s\n%s", name, status, b.EventLog())
	}
	return end
}

func TestCodeDeployIsRolledBackWhileItRuns(t *testing.T) {
	for _, at := range [][2]string{{"BeforeInstall", "Succeeded"}, {"Install", "InProgress"}, {"Install", "Succeeded"},
		{"AllowTraffic", "InProgress"}} {
		t.Run(at[0]+at[1], func(t *testing.T) {
			shifts(t, shop{config: "CodeDeployDefault.ECSCanary10Percent5Minutes", ready: 10 * time.Minute},
				func(b *stagetest.Bench) {
					if at[0] == "AllowTraffic" {
						continueShifts(b)
					}
					expectServiceEnd(b, rollBackAt(b, shiftFiles(b, "sim/web:v2", ""), at[0], at[1]), sluice.RolledBack,
						"", shiftedV1)
					if n := countShifts(b); n != 1 {
						b.Errorf("%d deployments of CodeDeploy: it was stopped, and CodeDeploy took it back", n)
					}
				})
		})
	}
}

// continueShifts continues every deployment that waits for a person.
func continueShifts(b *stagetest.Bench) {
	b.Clock.Go(func() {
		for range 200 {
			if b.Clock.Sleep(context.Background(), 5*time.Second) != nil {
				return
			}
			list, err := codeDeployClient(b).ListDeployments(context.Background(),
				&awscd.ListDeploymentsInput{IncludeOnlyStatuses: []cdtypes.DeploymentStatus{cdtypes.DeploymentStatusReady}})
			if err == nil && len(list.Deployments) > 0 {
				_, _ = codeDeployClient(b).ContinueDeployment(context.Background(),
					&awscd.ContinueDeploymentInput{DeploymentId: &list.Deployments[0]})
			}
		}
	})
}

// Where the group waits for a person, the way back does not: the former revision
// has served before.
func TestCodeDeployReturnsWithoutAPerson(t *testing.T) {
	shifts(t, shop{ready: 10 * time.Minute}, func(b *stagetest.Bench) {
		ctx := context.Background()
		continueShifts(b)
		end := b.Deploy(shiftFiles(b, "sim/web:v2", ""))
		expectServiceEnd(b, end, sluice.Succeeded, "", shiftedV2)
		stagetest.Must(b, b.Clock.Sleep(ctx, 20*time.Minute)) // the person has gone home
		stagetest.Must(b, b.Engine.Reopen(ctx, end.ID))
		stagetest.Must(b, b.Engine.SendCommand(ctx, end.ID, journal.Rollback, 0, "ann"))
		expectServiceEnd(b, stagetest.Got(b.Engine.Run(ctx, end.ID, engine.Options{}))(b), sluice.RolledBack, "",
			shiftedV1)
	})
}

const crashing = "sim/web:v2?healthy-after=1h&crash-after=2s&exit=3"

func TestCodeDeployThatFailsIsTakenBack(t *testing.T) {
	for name, s := range map[string]shop{
		"by us": {},
		"by CodeDeploy": {rollback: []cdtypes.AutoRollbackEvent{cdtypes.AutoRollbackEventDeploymentFailure,
			cdtypes.AutoRollbackEventDeploymentStopOnRequest}},
	} {
		t.Run(name, func(t *testing.T) {
			shifts(t, s, func(b *stagetest.Bench) {
				expectServiceEnd(b, b.Deploy(shiftFiles(b, crashing, "")), sluice.RolledBack, "exit code 3", shiftedV1)
				if n := countShifts(b); n != 1 {
					b.Errorf("%d deployments of CodeDeploy", n)
				}
			})
		})
	}
}

func TestCodeDeployAttributes(t *testing.T) {
	const four, six = "PRIMARY sim/web:v1 4 running", "PRIMARY sim/web:v1 6 running"
	t.Run("alone, and back", func(t *testing.T) {
		shifts(t, shop{}, func(b *stagetest.Bench) {
			ctx := context.Background()
			end := b.Deploy(shiftFiles(b, "sim/web:v1", "desiredCount: 6\n"))
			expectServiceEnd(b, end, sluice.Succeeded, "", six)
			if n := countShifts(b); n != 0 {
				b.Errorf("%d deployments of CodeDeploy for a count", n)
			}
			stagetest.Must(b, b.Engine.Reopen(ctx, end.ID))
			stagetest.Must(b, b.Engine.SendCommand(ctx, end.ID, journal.Rollback, 0, "ann"))
			expectServiceEnd(b, stagetest.Got(b.Engine.Run(ctx, end.ID, engine.Options{}))(b), sluice.RolledBack, "",
				four)
		})
	})
	t.Run("with a version that fails", func(t *testing.T) {
		shifts(t, shop{}, func(b *stagetest.Bench) {
			expectServiceEnd(b, b.Deploy(shiftFiles(b, crashing,
				"desiredCount: 6\nhealthCheckGracePeriodSeconds: 30\n")),
				sluice.RolledBack, "exit code 3", four)
		})
	})
}

// A count that another process or person sets while no process runs, at each write, is kept and told.
func TestCodeDeployKeepsACountOfOthers(t *testing.T) {
	ctx := context.Background()
	for n, more := 1, true; more; n++ {
		shifts(t, shop{}, func(b *stagetest.Bench) {
			id := b.Start(shiftFiles(b, "sim/web:v2", "desiredCount: 6\n"))
			g := b.KillAtWrite(n, true)
			at := b.RunUntilKilled(id)
			g.Left = -1
			if more = at != ""; !more {
				return
			}
			stagetest.Got(b.ECS.UpdateService(ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("prod"),
				Service: aws.String("web"), DesiredCount: aws.Int32(8)}))(b)
			stagetest.Must(b, b.Clock.Sleep(ctx, time.Minute))
			end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
			expectServiceEnd(b, end, sluice.Succeeded, "desired count changed from 6 to 8 by others", "PRIMARY sim/web:v2 8 running")
		})
	}
}

func TestCodeDeployLostReplyMakesOneDeployment(t *testing.T) {
	shifts(t, shop{}, func(b *stagetest.Bench) {
		id := b.Start(shiftFiles(b, "sim/web:v2", ""))
		stagetest.Must(b, b.Sim.Inject("lost-reply codedeploy:CreateDeployment times=1"))
		expectServiceEnd(b, stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b),
			sluice.Succeeded, "", shiftedV2)
		if n := countShifts(b); n != 1 {
			b.Errorf("%d deployments of CodeDeploy", n)
		}
	})
}

// Somebody else's deployment that runs is not touched, and nothing of ours is left.
func TestCodeDeploySomebodyElseDeploys(t *testing.T) {
	shifts(t, shop{}, func(b *stagetest.Bench) {
		ctx := context.Background()
		id := b.Start(shiftFiles(b, "sim/web:v2", ""))
		theirs := deployByHand(b, "sim/web:v3")
		end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
		expectServiceEnd(b, end, sluice.Superseded, theirs, "PRIMARY sim/web:v3 4 running")
	})
}

// deployByHand deploys an image by CodeDeploy without sluice.
func deployByHand(b *stagetest.Bench, image string) (id string) {
	b.Helper()
	ctx := context.Background()
	td := stagetest.Got(b.ECS.RegisterTaskDefinition(ctx, stagetest.TaskDefinition(b, image)))(b)
	content := fmt.Sprintf(`{"version": 0.0, "Resources": [{"T": {"Type": "AWS::ECS::Service", "Properties": {"TaskDefinition": %q, "LoadBalancerInfo": {"ContainerName": "web", "ContainerPort": 8080}}}}]}`,
		*td.TaskDefinition.TaskDefinitionArn)
	out := stagetest.Got(codeDeployClient(b).CreateDeployment(ctx,
		&awscd.CreateDeploymentInput{ApplicationName: aws.String("shop"),
			DeploymentGroupName: aws.String("web"),
			Revision: &cdtypes.RevisionLocation{RevisionType: cdtypes.RevisionLocationTypeAppSpecContent,
				AppSpecContent: &cdtypes.AppSpecContent{Content: aws.String(content)}}}))(b)
	return *out.DeploymentId
}

// Killed before or after any write and resumed, the end is the same, and there is
// one deployment of CodeDeploy.
func TestCodeDeployKilledAtEveryWriteAndResumed(t *testing.T) {
	for name, c := range map[string]struct{ image, more, end string }{
		"to v2":           {"sim/web:v2", "", "succeeded: " + shiftedV2},
		"with attributes": {"sim/web:v2", "healthCheckGracePeriodSeconds: 30\n", "succeeded: " + shiftedV2},
		"and back":        {crashing, "healthCheckGracePeriodSeconds: 30\n", "rolled back: " + shiftedV1},
	} {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/after=%v", name, after), func(t *testing.T) {
				t.Parallel()
				for n, more := 1, true; more; n++ {
					shifts(t, shop{}, func(b *stagetest.Bench) {
						more = killShift(b, n, after, shiftFiles(b, c.image, c.more),
							c.end)
					})
				}
			})
		}
	}
}

func killShift(b *stagetest.Bench, n int, after bool, files fstest.MapFS, want string) (more bool) {
	b.Helper()
	id := b.Start(files)
	g := b.KillAtWrite(n, after)
	at := b.RunUntilKilled(id)
	g.Left = -1
	if at == "" {
		return false
	}
	end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
	if state := fmt.Sprintf("%s: %s", end.Outcome, serviceText(b)); state != want || countShifts(b) != 1 {
		b.Errorf("killed %s (write %d): %s (%s), %d deployments of CodeDeploy; want %s and one\n%s", at, n, state,
			end.Cause, countShifts(b), want, b.EventLog())
	}
	b.ExpectNoneLost()
	return true
}

// What CodeDeploy's own history tells is enough to go back without a journal, also if
// sluice is killed before or after any of its writes on that way.
func TestCodeDeployReturnByHistory(t *testing.T) {
	for name, c := range map[string]struct {
		running bool
		want    string
		shifts  int // of CodeDeploy, rollbacks left out
	}{
		"after the end": {false, "succeeded: " + shiftedV2, 3},
		"while it runs": {true, "succeeded: " + shiftedV1, 1},
	} {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/after=%v", name, after), func(t *testing.T) {
				t.Parallel()
				for n, more := 1, true; more; n++ {
					shifts(t, shop{}, func(b *stagetest.Bench) {
						id := startReturn(b, c.running)
						g := b.KillAtWrite(n, after)
						at := b.RunUntilKilled(id)
						g.Left, more = -1, at != ""
						end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
						if state := fmt.Sprintf("%s: %s", end.Outcome, serviceText(b)); state != c.want ||
							countShifts(b) != c.shifts {
							b.Errorf("killed %s (write %d): %s (%s), %d deployments of CodeDeploy; want %s and %d\n%s",
								at, n, state, end.Cause, countShifts(b), c.want, c.shifts, b.EventLog())
						}
						b.ExpectNoneLost()
					})
				}
			})
		}
	}
}

// startReturn lets others deploy v2, and v3 after it unless v2 still runs, and starts
// the return by the history.
func startReturn(b *stagetest.Bench, running bool) (id string) {
	b.Helper()
	ctx := context.Background()
	deployByHand(b, "sim/web:v2")
	if running {
		stagetest.Must(b, b.Clock.Sleep(ctx, 30*time.Second))
	} else {
		b.Until("v2 serves", func() bool { return serviceText(b) == shiftedV2 })
		deployByHand(b, "sim/web:v3")
		b.Until("v3 serves", func() bool { return serviceText(b) == "PRIMARY sim/web:v3 4 running" })
	}
	live, back, err := survey.ReadRollbackInputs(ctx, b.Account, b.Clock, "prod", "web", "")
	stagetest.Must(b, err)
	return stagetest.Got(b.Engine.Start(ctx, stagetest.Got(history.MakeReturn("prod", live, back))(b),
		engine.TriggerManual))(b)
}

// Another tool removes the claim tag of a deployment that writes the count too, and a later rollback works.
// It keeps the count, which succeeded.
func TestRollbackAfterTheClaimWasRemoved(t *testing.T) {
	shifts(t, shop{}, func(b *stagetest.Bench) {
		ctx := context.Background()
		b.AfterWrite("codedeploy:CreateDeployment", 3*time.Second, func() {
			live := stagetest.Got(b.ECS.DescribeServices(ctx, &awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
				Services: []string{"web"}}))(b)
			stagetest.Got(b.ECS.UntagResource(ctx, &awsecs.UntagResourceInput{ResourceArn: live.Services[0].ServiceArn,
				TagKeys: []string{plan.ClaimTag}}))(b)
		})
		end := b.Deploy(shiftFiles(b, "sim/web:v2", "desiredCount: 6\n"))
		expectServiceEnd(b, end, sluice.Succeeded, "", "PRIMARY sim/web:v2 6 running")
		stagetest.Must(b, b.Engine.Reopen(ctx, end.ID))
		stagetest.Must(b, b.Engine.SendCommand(ctx, end.ID, journal.Rollback, 0, "ann"))
		expectServiceEnd(b, stagetest.Got(b.Engine.Run(ctx, end.ID, engine.Options{}))(b), sluice.RolledBack, "",
			"PRIMARY sim/web:v1 6 running")
	})
}

// The time that CodeDeploy lets pass as configured is no lack of progress, also if it is longer than a deployment may
// be without progress.
func TestLongWaitsOfCodeDeployAreNoStall(t *testing.T) {
	for _, s := range []shop{{config: "CodeDeployDefault.ECSCanary10Percent15Minutes"}, {terminate: 30 * time.Minute},
		{config: "CodeDeployDefault.ECSCanary10Percent15Minutes", terminate: 30 * time.Minute, ready: time.Hour}} {
		shifts(t, s, func(b *stagetest.Bench) {
			if s.ready > 0 {
				b.Clock.Go(func() {
					b.Sleep(25 * time.Minute)
					continueShifts(b)
				})
			}
			expectServiceEnd(b, b.Deploy(shiftFiles(b, "sim/web:v2", "")), sluice.Succeeded, "", shiftedV2)
		})
	}
}

// The former revision was deregistered since. The rollback registers a copy of it and has CodeDeploy deploy that.
func TestCodeDeployRollsBackToACopyOfADeregisteredRevision(t *testing.T) {
	shifts(t, shop{}, func(b *stagetest.Bench) {
		ctx := context.Background()
		end := b.Deploy(shiftFiles(b, "sim/web:v2", ""))
		stagetest.Got(b.ECS.DeregisterTaskDefinition(ctx,
			&awsecs.DeregisterTaskDefinitionInput{TaskDefinition: aws.String("web:1")}))(b)
		stagetest.Must(b, b.Engine.Reopen(ctx, end.ID))
		stagetest.Must(b, b.Engine.SendCommand(ctx, end.ID, journal.Rollback, 0, "ann"))
		expectServiceEnd(b, stagetest.Got(b.Engine.Run(ctx, end.ID, engine.Options{}))(b), sluice.RolledBack, "",
			shiftedV1)
		if !strings.Contains(b.EventLog(), "sluice restores its copy web:3") {
			b.Error(b.EventLog())
		}
	})
}
