package bluegreen_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	awscd "github.com/aws/aws-sdk-go-v2/service/codedeploy"
	cdtypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/awssim/loadbalancer"
	"github.com/sluice-ecs/sluice/awssim/loadgen"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// shiftWorld has service web, which CodeDeploy deploys; %s are lines of its
// deployment group, other applications and other listeners.
const shiftWorld = `
account: "123456789012"
region: us-east-1
clusters: [prod]
knobs: {loadBalancerProvisioning: 1s}
targetGroups:
  - {name: web-a, port: 8080, deregistrationDelay: 20s,
	healthCheck: {interval: 5s, timeout: 2s, healthy: 2, unhealthy: 2}}
  - {name: web-b, port: 8080, deregistrationDelay: 20s,
	healthCheck: {interval: 5s, timeout: 2s, healthy: 2, unhealthy: 2}}
loadBalancers:
  - name: web
    listeners: [{port: 80, forward: {web-a: 1}}%[3]s]
services:
  - {name: web, controller: CODE_DEPLOY, count: 3, image: "sim/web:v1?latency=20ms", port: 8080, targetGroup: web-a}
deploymentConfigs:
  - {name: half, canary: 50, every: 2m}
  - {name: thirds, linear: 34, every: 1m}
functions:
  - {name: approve, after: 5s}
  - {name: refuse, result: fail, after: 20s}
  - {name: hang, result: hang}
applications:
%[2]s
  - name: shop
    groups:
      - name: web
        service: web
        targetGroups: [web-a, web-b]
        listener: "web:80"
%[1]s
`

// shiftOptions change the world of a test.
type shiftOptions struct {
	seed   uint64
	group  string // lines of the deployment group
	others int    // applications besides
}

// onShifts runs f in a world in which CodeDeploy deploys service web, which serves v1
// to 300 requests a second.
func onShifts(t testing.TB, o shiftOptions, f func(*stagetest.Bench)) {
	t.Helper()
	v := clock.NewVirtual(stagetest.StartTime)
	v.Run(func() {
		b := newShiftBench(t, v, o)
		defer b.Journal.Close()
		f(b)
	})
}

func newShiftBench(t testing.TB, v *clock.Virtual, o shiftOptions) *stagetest.Bench {
	t.Helper()
	sim, err := awssim.New(awssim.Options{Clock: v, Seed: o.seed, Strict: true, Direct: o.seed%5 != 0})
	stagetest.Must(t, err)
	group, others, listeners := "", "", ""
	if o.group != "" {
		group = "        " + strings.ReplaceAll(o.group, "\n", "\n        ")
	}
	if strings.Contains(o.group, "web:8080") {
		listeners = ", {port: 8080, forward: {web-a: 1}}"
	}
	for i := range o.others {
		others += fmt.Sprintf("  - {name: other-%d}\n", i)
	}
	stagetest.Must(t, sim.Load("world.yaml", fmt.Appendf(nil, shiftWorld, group, others, listeners)))
	b := stagetest.Connect(t, v, sim)
	region := sim.View().Regions[0]
	b.Balancer = region.LoadBalancers[0].ARN
	groups := stagetest.Got(b.ELB.DescribeTargetGroups(context.Background(),
		&awselb.DescribeTargetGroupsInput{Names: []string{"web-a"}}))(b)
	b.Primary = *groups.TargetGroups[0].TargetGroupArn
	b.Tally = loadgen.Attach(sim.World(), sim.Balancer(),
		loadgen.Caller{Key: stagetest.Key, Balancer: b.Balancer, Port: 80,
			Rate:    300,
			Request: loadbalancer.Request{Method: "GET", Path: "/"}})
	return b
}

// codeDeployFiles is an application that CodeDeploy deploys; more goes into its file.
func codeDeployFiles(b *stagetest.Bench, image, more string) fstest.MapFS {
	files := b.Files(image, "")
	text := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	files["sluice.yaml"] = text("name: web\nregion: us-east-1\ncluster: prod\ninput:\n  taskDefinitionFile: " +
		"taskdef.yaml\n  serviceDefinitionFile: servicedef.yaml\n" + more)
	files["servicedef.yaml"] = text(fmt.Sprintf(`
serviceName: web
launchType: FARGATE
deploymentController: {type: CODE_DEPLOY}
loadBalancers: [{targetGroupArn: %q, containerName: web, containerPort: 8080}]
`, b.Primary))
	return files
}

// newestShift is the deployment of CodeDeploy that was made last, in its group.
func newestShift(b *stagetest.Bench) *cdtypes.DeploymentInfo {
	b.Helper()
	list := stagetest.Got(codeDeployClient(b).ListDeployments(context.Background(), &awscd.ListDeploymentsInput{}))(b)
	if len(list.Deployments) == 0 {
		return &cdtypes.DeploymentInfo{}
	}
	return stagetest.Got(codeDeployClient(b).GetDeployment(context.Background(),
		&awscd.GetDeploymentInput{DeploymentId: &list.Deployments[0]}))(b).DeploymentInfo
}

// greenShare is the percentage of the traffic at the replacement of the newest
// deployment.
func greenShare(b *stagetest.Bench) float64 {
	b.Helper()
	d := newestShift(b)
	if d.DeploymentId == nil {
		return 0
	}
	out := stagetest.Got(codeDeployClient(b).BatchGetDeploymentTargets(context.Background(),
		&awscd.BatchGetDeploymentTargetsInput{DeploymentId: d.DeploymentId, TargetIds: []string{"prod:web"}}))(b)
	for _, s := range out.DeploymentTargets[0].EcsTarget.TaskSetsInfo {
		if s.TaskSetLabel == cdtypes.TargetLabelGreen {
			return s.TrafficWeight
		}
	}
	return 0
}

// activeSets are a service's task sets that are not being deleted: "PRIMARY
// sim/web:v2 3 running".
func activeSets(b *stagetest.Bench, service string) string {
	b.Helper()
	out := stagetest.Got(b.ECS.DescribeServices(context.Background(),
		&awsecs.DescribeServicesInput{Cluster: ptr("prod"),
			Services: []string{service}}))(b)
	var lines []string
	for _, ts := range out.Services[0].TaskSets {
		if *ts.Status == "DRAINING" {
			continue
		}
		td := stagetest.Got(b.ECS.DescribeTaskDefinition(context.Background(),
			&awsecs.DescribeTaskDefinitionInput{TaskDefinition: ts.TaskDefinition}))(b)
		image, _, _ := strings.Cut(*td.TaskDefinition.ContainerDefinitions[0].Image, "?")
		lines = append(lines, fmt.Sprintf("%s %s %d running", *ts.Status, image, ts.RunningCount))
	}
	return strings.Join(lines, "; ")
}

func ptr[T any](v T) *T { return &v }
