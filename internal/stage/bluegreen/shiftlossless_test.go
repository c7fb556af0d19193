package bluegreen_test

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	awscd "github.com/aws/aws-sdk-go-v2/service/codedeploy"
	cdtypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/loadgen"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

var runs = flag.Int("runs", 0, "how often each way of moving the traffic is tried; 0: as often as usual")

// tries is how often each way is tried if that is usual.
func tries(usual int) int { return cmp.Or(*runs, usual) }

const backOnFailure = "rollback: [DEPLOYMENT_FAILURE]"

// TestBlueGreenLosesNoRequest: 300 requests a second through each way of moving the
// traffic, and through each way back. 20 runs of each are had with -runs 20.
func TestBlueGreenLosesNoRequest(t *testing.T) {
	for name, c := range map[string]struct {
		file    string
		group   string
		stopAt  float64 // percent at the replacement when somebody steps in
		how     string  // what they do: roll back by us; or at CodeDeploy, stop with rollback
		outcome sluice.Outcome
		least   float64 // share of the requests that v2 answers
	}{
		"all at once": {file: config("CodeDeployDefault.ECSAllAtOnce"), outcome: sluice.Succeeded, least: 0.2},
		"canary": {file: config("CodeDeployDefault.ECSCanary10Percent5Minutes"), outcome: sluice.Succeeded,
			least: 0.1},
		"linear": {file: config("CodeDeployDefault.ECSLinear10PercentEvery1Minutes"),
			outcome: sluice.Succeeded, least: 0.2},
		"own canary": {file: config("half"), group: "terminate: 1m", outcome: sluice.Succeeded, least: 0.2},
		"own linear": {file: config("thirds"), group: `testListener: "web:8080"`, outcome: sluice.Succeeded,
			least: 0.2},
		"rollback at half": {file: config("half"), stopAt: 50, how: "rollback", outcome: sluice.RolledBack,
			least: 0.01},
		"rollback at the end": {file: config("thirds"), group: "terminate: 5m", stopAt: 100, how: "rollback",
			outcome: sluice.RolledBack, least: 0.05},
		"rollback afterwards": {file: config("half"), how: "afterwards", outcome: sluice.RolledBack, least: 0.05},
		"stopped by others":   {file: config("half"), stopAt: 50, how: "stop", outcome: sluice.RolledBack, least: 0.01},
		"a hook says no": {file: config("half") + hooks("AfterAllowTraffic: refuse"), group: backOnFailure,
			outcome: sluice.RolledBack, least: 0.01},
		"and nobody rolls it": {file: config("half") + hooks("AfterAllowTraffic: refuse"), outcome: sluice.RolledBack,
			least: 0.01},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range tries(5) {
				onShifts(t, shiftOptions{seed: uint64(seed), group: c.group}, func(b *stagetest.Bench) {
					stagetest.Must(b, b.Clock.Sleep(context.Background(), 10*time.Second))
					end := shiftAndAct(b, b.Start(codeDeployFiles(b, "sim/web:v2?latency=20ms", c.file)), c.how,
						c.stopAt)
					stagetest.Must(b, b.Clock.Sleep(context.Background(), time.Minute))
					serves := "PRIMARY sim/web:v2 3 running"
					if c.outcome == sluice.RolledBack {
						serves = "PRIMARY sim/web:v1 3 running"
					}
					if end.Outcome != c.outcome || activeSets(b, "web") != serves {
						b.Fatalf("seed %d: %s: %s; %s\n%s", seed, end.Outcome, end.Cause, activeSets(b, "web"),
							b.EventLog())
					}
					b.ExpectNoneLost()
					if r := b.Tally.Report(); r.Requests < 30_000 || r.AnsweredBy("v2") < c.least*r.Requests {
						b.Errorf("seed %d: v2 answered %.0f of %.0f", seed, r.AnsweredBy("v2"), r.Requests)
					}
				})
			}
		})
	}
}

func config(name string) string {
	return "codedeploy: {deploymentConfigName: " + name + "}\n"
}

func hooks(lines ...string) string {
	text := "appspec:\n  Hooks:\n"
	for _, l := range lines {
		text += "    - " + l + "\n"
	}
	return text
}

// shiftAndAct runs a deployment to its end while somebody steps in.
func shiftAndAct(b *stagetest.Bench, id, how string, at float64) (end engine.RunResult) {
	b.Helper()
	ctx := context.Background()
	if how == "rollback" || how == "stop" {
		b.Clock.Go(func() {
			b.Until("traffic is there", func() bool { return greenShare(b) >= at })
			stagetest.Must(b, b.Clock.Sleep(ctx, 10*time.Second))
			if how == "rollback" {
				stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
				return
			}
			stagetest.Got(codeDeployClient(b).StopDeployment(ctx,
				&awscd.StopDeploymentInput{DeploymentId: newestShift(b).DeploymentId,
					AutoRollbackEnabled: ptr(true)}))(b)
		})
	}
	end = stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
	if how == "afterwards" {
		stagetest.Must(b, b.Clock.Sleep(ctx, time.Minute))
		stagetest.Must(b, b.Engine.Reopen(ctx, id))
		stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
		end = stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
	}
	return end
}

// TestANetworkLoadBalancerLosesNoRequest: 300 connections a second, all switched at
// once, there and back.
func TestANetworkLoadBalancerLosesNoRequest(t *testing.T) {
	for name, c := range map[string]struct {
		hooks, group, how string
		serves            string
		outcome           sluice.Outcome
	}{
		"there":          {serves: "v2", outcome: sluice.Succeeded},
		"there and back": {serves: "v1", how: "afterwards", outcome: sluice.RolledBack},
		"a hook says no": {serves: "v1", hooks: hooks("AfterAllowTraffic: refuse"), outcome: sluice.RolledBack},
		"and CodeDeploy rolls": {serves: "v1", hooks: hooks("AfterAllowTraffic: refuse"), group: "DEPLOYMENT_FAILURE",
			outcome: sluice.RolledBack},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range tries(5) {
				onShifts(t, shiftOptions{seed: uint64(seed)}, func(b *stagetest.Bench) {
					createFlow(b, c.group)
					b.Tally = loadgen.Attach(b.Sim.World(), b.Sim.Balancer(),
						loadgen.Caller{Key: stagetest.Key, Balancer: b.Balancer, Port: 80, Rate: 300})
					stagetest.Must(b, b.Clock.Sleep(context.Background(), 10*time.Second))
					end := shiftAndAct(b, b.Start(flowFiles(b, "sim/web:v2?latency=20ms",
						config("CodeDeployDefault.ECSAllAtOnce")+c.hooks)), c.how, 0)
					stagetest.Must(b, b.Clock.Sleep(context.Background(), time.Minute))
					if serves := "PRIMARY sim/web:" + c.serves + " 1 running"; end.Outcome != c.outcome ||
						activeSets(b, "flow") != serves {
						b.Fatalf("seed %d: %s: %s; %s\n%s", seed, end.Outcome, end.Cause, activeSets(b, "flow"),
							b.EventLog())
					}
					b.ExpectNoneLost()
					if r := b.Tally.Report(); r.Requests < 30_000 || r.AnsweredBy("v2") < 0.01*r.Requests {
						b.Errorf("seed %d: v2 answered %.0f of %.0f", seed, r.AnsweredBy("v2"), r.Requests)
					}
				})
			}
		})
	}
}

// flowFiles is an application of service flow.
func flowFiles(b *stagetest.Bench, image, more string) fstest.MapFS {
	files := codeDeployFiles(b, image, more)
	files["servicedef.yaml"].Data = bytes.Replace(files["servicedef.yaml"].Data, []byte("serviceName: web"),
		[]byte("serviceName: flow"), 1)
	return files
}

// TestANetworkLoadBalancerIsSwitchedAtOnce: CodeDeploy takes no other configuration
// for it, which turns out in the deployment.
func TestANetworkLoadBalancerIsSwitchedAtOnce(t *testing.T) {
	for _, atOnce := range []bool{true, false} {
		onShifts(t, shiftOptions{seed: 1, group: backOnFailure}, func(b *stagetest.Bench) {
			createFlow(b, "")
			name, want, serves := "half", sluice.Failed, "PRIMARY sim/web:v1 1 running"
			if atOnce {
				name, want, serves = "CodeDeployDefault.ECSAllAtOnce", sluice.Succeeded, "PRIMARY sim/web:v2 1 running"
			}
			end := b.Deploy(flowFiles(b, "sim/web:v2", config(name)))
			stagetest.Must(b, b.Clock.Sleep(context.Background(), time.Minute))
			if end.Outcome != want && (atOnce || end.Outcome != sluice.RolledBack) || activeSets(b, "flow") != serves {
				b.Errorf("%s: %s; %s\n%s", end.Outcome, end.Cause, activeSets(b, "flow"), b.EventLog())
			}
			if !atOnce &&
				!strings.Contains(end.Cause, "a Network Load Balancer supports the deployment configuration "+
					"CodeDeployDefault.ECSAllAtOnce only") {
				b.Error(end.Cause)
			}
		})
	}
}

// createFlow makes service flow behind a Network Load Balancer, with its deployment group,
// which rolls back on the event, if one is given.
func createFlow(b *stagetest.Bench, rollback string) {
	b.Helper()
	ctx := context.Background()
	lb := stagetest.Got(b.ELB.CreateLoadBalancer(ctx, &awselb.CreateLoadBalancerInput{Name: ptr("flow"),
		Type: elbtypes.LoadBalancerTypeEnumNetwork, Subnets: b.Subnets()[:2]}))(b)
	b.Balancer = *lb.LoadBalancers[0].LoadBalancerArn
	pair := cdtypes.TargetGroupPairInfo{}
	for _, name := range []string{"flow-b", "flow-a"} {
		g := stagetest.Got(b.ELB.CreateTargetGroup(ctx, &awselb.CreateTargetGroupInput{Name: &name, Protocol: "TCP",
			Port: ptr(int32(8080)), TargetType: "ip", VpcId: ptr(b.VPC())}))(b)
		b.Primary = *g.TargetGroups[0].TargetGroupArn
		pair.TargetGroups = append(pair.TargetGroups, cdtypes.TargetGroupInfo{Name: &name})
	}
	l := stagetest.Got(b.ELB.CreateListener(ctx, &awselb.CreateListenerInput{LoadBalancerArn: &b.Balancer,
		Port:           ptr(int32(80)),
		Protocol:       "TCP",
		DefaultActions: []elbtypes.Action{{Type: "forward", TargetGroupArn: &b.Primary}}}))(b)
	pair.ProdTrafficRoute = &cdtypes.TrafficRoute{ListenerArns: []string{*l.Listeners[0].ListenerArn}}
	stagetest.Got(b.ECS.CreateService(ctx, &awsecs.CreateServiceInput{Cluster: ptr("prod"), ServiceName: ptr("flow"),
		DesiredCount: ptr(int32(1)), TaskDefinition: ptr("web"), LaunchType: "FARGATE",
		NetworkConfiguration: b.Network(),
		DeploymentController: &ecstypes.DeploymentController{Type: ecstypes.DeploymentControllerTypeCodeDeploy},
		LoadBalancers: []ecstypes.LoadBalancer{{TargetGroupArn: &b.Primary, ContainerName: ptr("web"),
			ContainerPort: ptr(int32(8080))}}}))(b)
	back := &cdtypes.AutoRollbackConfiguration{Enabled: rollback != ""}
	if back.Enabled {
		back.Events = []cdtypes.AutoRollbackEvent{cdtypes.AutoRollbackEvent(rollback)}
	}
	stagetest.Got(codeDeployClient(b).CreateDeploymentGroup(ctx,
		&awscd.CreateDeploymentGroupInput{ApplicationName: ptr("shop"),
			DeploymentGroupName: ptr("flow"), AutoRollbackConfiguration: back,
			ServiceRoleArn: ptr("arn:aws:iam::123456789012:role/deploy"),
			EcsServices:    []cdtypes.ECSService{{ClusterName: ptr("prod"), ServiceName: ptr("flow")}},
			DeploymentStyle: &cdtypes.DeploymentStyle{DeploymentType: "BLUE_GREEN",
				DeploymentOption: "WITH_TRAFFIC_CONTROL"},
			LoadBalancerInfo: &cdtypes.LoadBalancerInfo{TargetGroupPairInfoList: []cdtypes.TargetGroupPairInfo{pair}}}))(b)
	b.Until("flow serves", func() bool { return b.Healthy(b.Primary) == 1 })
}
