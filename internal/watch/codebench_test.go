package watch_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscd "github.com/aws/aws-sdk-go-v2/service/codedeploy"
	cdtypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
	"github.com/sluice-ecs/sluice/internal/watch"
)

// codeWorld has service web, which CodeDeploy deploys; %s are more knobs, lines of
// its deployment group, and of the rest of the file.
const codeWorld = `
account: "123456789012"
region: us-east-1
clusters: [prod]
knobs: {loadBalancerProvisioning: 1s%s}
targetGroups:
  - {name: web-a, port: 8080, deregistrationDelay: 10s, healthCheck: {interval: 5s, timeout: 2s, healthy: 2, unhealthy: 2}}
  - {name: web-b, port: 8080, deregistrationDelay: 10s, healthCheck: {interval: 5s, timeout: 2s, healthy: 2, unhealthy: 2}}
loadBalancers:
  - name: edge
    listeners:
      - {port: 80, forward: {web-a: 1}}
      - {port: 8080, forward: {web-a: 1}}
services:
  - {name: web, controller: CODE_DEPLOY, count: 3, image: "sim/web:v1", port: 8080, targetGroup: web-a}
deploymentConfigs:
  - {name: half, canary: 50, every: 2m}
functions:
  - {name: approve, after: 5s}
  - {name: refuse, result: fail, after: 5s}
  - {name: hang, result: hang}
applications:
  - name: shop
    groups:
      - name: web
        service: web
        targetGroups: [web-a, web-b]
        listener: "edge:80"
        testListener: "edge:8080"
%s
%s
`

// codeBench is a bench whose service CodeDeploy deploys.
type codeBench struct {
	*bench
	*awscd.Client
}

type codeOptions struct {
	seed        uint64
	group, rest string
	knobs       string
	skew        time.Duration // of our clock
}

func onCode(t testing.TB, o codeOptions, f func(*codeBench)) {
	t.Helper()
	v := clock.NewVirtual(dawn)
	v.Run(func() { f(newCodeBench(t, v, o)) })
}

func newCodeBench(t testing.TB, v *clock.Virtual, o codeOptions) *codeBench {
	t.Helper()
	sim, err := awssim.New(awssim.Options{Clock: v, Seed: o.seed, Strict: true, Direct: o.seed%5 != 0})
	must(t, err)
	group := ""
	if o.group != "" {
		group = "        " + strings.ReplaceAll(o.group, "\n", "\n        ")
	}
	must(t, sim.Load("world.yaml", fmt.Appendf(nil, codeWorld, o.knobs, group, o.rest)))
	cfg := sim.Config()
	b := &bench{TB: t, clock: v, sim: sim, ecs: awsecs.NewFromConfig(cfg), elb: awselb.NewFromConfig(cfg)}
	ours := skewed{v, o.skew}
	a, err := account.Open(context.Background(), account.Config{
		Region: cfg.Region, Credentials: cfg.Credentials, EndpointURL: awssim.Endpoint, HTTPClient: sim.HTTPClient(),
		APIOptions: sim.APIOptions(),
		Clock:      ours, OnCall: func(c account.Call) { b.calls = append(b.calls, c) }})
	must(t, err)
	b.watch = watch.New(a, ours)
	return &codeBench{b, awscd.NewFromConfig(cfg, func(o *awscd.Options) { o.Retryer = aws.NopRetryer{} })}
}

// bring starts a deployment of an image; hooks are event, function, event …
func (b *codeBench) bring(image, config string, hooks ...string) (id string) {
	b.Helper()
	return b.start(b.bringable(image), config, hooks...)
}

// bringable registers a revision of web and returns its ARN.
func (b *codeBench) bringable(image string) string {
	b.Helper()
	td := got(b.ecs.RegisterTaskDefinition(context.Background(),
		&awsecs.RegisterTaskDefinitionInput{Family: aws.String("web"), NetworkMode: ecstypes.NetworkModeAwsvpc,
			Cpu: aws.String("256"), Memory: aws.String("512"),
			RequiresCompatibilities: []ecstypes.Compatibility{ecstypes.CompatibilityFargate},
			ContainerDefinitions:    b.containers(image)}))(b)
	return *td.TaskDefinition.TaskDefinitionArn
}

func (b *codeBench) containers(image string) []ecstypes.ContainerDefinition {
	return []ecstypes.ContainerDefinition{{Name: aws.String("web"), Image: aws.String(image), Essential: aws.Bool(true),
		Memory:       aws.Int32(512),
		PortMappings: []ecstypes.PortMapping{{ContainerPort: aws.Int32(8080)}}}}
}

func (b *codeBench) start(arn, config string, hooks ...string) (id string) {
	b.Helper()
	return got(b.create(arn, config, hooks...))(b)
}

func (b *codeBench) create(arn, config string, hooks ...string) (id string, err error) {
	spec := fmt.Sprintf(`{version: 0.0, Resources: [{TargetService: {Type: "AWS::ECS::Service", Properties: {TaskDefinition: %q, LoadBalancerInfo: {ContainerName: web, ContainerPort: 8080}}}}]`, arn)
	if len(hooks) > 0 {
		spec += ", Hooks: ["
		for i := 0; i < len(hooks); i += 2 {
			spec += fmt.Sprintf("{%s: %s}, ", hooks[i], hooks[i+1])
		}
		spec += "]"
	}
	in := &awscd.CreateDeploymentInput{ApplicationName: aws.String("shop"), DeploymentGroupName: aws.String("web"),
		Revision: &cdtypes.RevisionLocation{RevisionType: cdtypes.RevisionLocationTypeAppSpecContent,
			AppSpecContent: &cdtypes.AppSpecContent{Content: aws.String(spec + "}")}}}
	if config != "" {
		in.DeploymentConfigName = aws.String(config)
	}
	out, err := b.CreateDeployment(context.Background(), in)
	if err != nil {
		return "", err
	}
	return *out.DeploymentId, nil
}

func (b *codeBench) get(id string) *cdtypes.DeploymentInfo {
	b.Helper()
	return got(b.GetDeployment(context.Background(), &awscd.GetDeploymentInput{DeploymentId: &id}))(b).DeploymentInfo
}

func (b *codeBench) stop(id string, back bool) {
	b.Helper()
	got(b.StopDeployment(context.Background(), &awscd.StopDeploymentInput{DeploymentId: &id,
		AutoRollbackEnabled: &back}))(b)
}

// ends waits for the end of a deployment without our help.
func (b *codeBench) finishes(id string) *cdtypes.DeploymentInfo {
	b.Helper()
	b.until(id+" ends", func() bool {
		s := b.get(id).Status
		return s == cdtypes.DeploymentStatusSucceeded || s == cdtypes.DeploymentStatusFailed ||
			s == cdtypes.DeploymentStatusStopped
	})
	return b.get(id)
}

// follow waits for a deployment, or for that of the service if id is empty.
func (b *codeBench) follow(w verdict.Wanted) verdict.Verdict {
	b.Helper()
	if w.Timeout == 0 {
		w.Timeout = 3 * time.Hour
	}
	s, err := b.watch.Wait(context.Background(), watch.Target{Cluster: "prod", Service: "web", Wanted: w},
		func(s watch.Update) {
			b.seen = append(b.seen, fmt.Sprint(s.At.Sub(dawn), " ", s.Verdict.Outcome, " ", s.Verdict.Detail))
		})
	must(b, err)
	return s.Verdict
}

// is fails the test unless the verdict is as wanted and its line has the words.
func (b *codeBench) is(v verdict.Verdict, outcome sluice.Outcome, by string, kind diagnosis.Kind, words ...string) {
	b.Helper()
	if v.Outcome != outcome || v.By != by || v.Cause.Kind != kind {
		b.Errorf("%s by %q for %q, want %s by %q for %q: %s\n%s", v.Outcome, v.By, v.Cause.Kind, outcome, by, kind,
			v.Detail, strings.Join(b.seen, "\n"))
	}
	for _, w := range words {
		if !strings.Contains(v.Detail, w) {
			b.Errorf("%q is not in %q\n%s", w, v.Detail, strings.Join(b.seen, "\n"))
		}
	}
}

// weight is the percentage of the traffic at the replacement of a deployment.
func (b *codeBench) weight(id string) float64 {
	b.Helper()
	out := got(b.BatchGetDeploymentTargets(context.Background(),
		&awscd.BatchGetDeploymentTargetsInput{DeploymentId: &id, TargetIds: []string{"prod:web"}}))(b)
	for _, s := range out.DeploymentTargets[0].EcsTarget.TaskSetsInfo {
		if s.TaskSetLabel == cdtypes.TargetLabelGreen {
			return s.TrafficWeight
		}
	}
	return 0
}
