package codedeploy_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscd "github.com/aws/aws-sdk-go-v2/service/codedeploy"
	cdtypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	smithy "github.com/aws/smithy-go"

	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/awssim/world"
)

var external = &ecstypes.DeploymentController{Type: ecstypes.DeploymentControllerTypeExternal}

// hands are a clock that is moved by hand.
type hands struct{ now time.Time }

// Now is the clock's time.
func (h *hands) Now() time.Time { return h.now }

// Sleep is not for tests.
func (h *hands) Sleep(context.Context, time.Duration) error { panic("nobody sleeps here") }

// bench is a simulated AWS with one service that CodeDeploy deploys.
type bench struct {
	*testing.T
	*awscd.Client
	ecs   *awsecs.Client
	sim   *awssim.Sim
	clock *hands
	ctx   context.Context
}

// place is the bench's world; %s are lines of its deployment group, and of the
// rest of the file.
const place = `
account: "123456789012"
region: us-east-1
clusters: [prod]
knobs: {loadBalancerProvisioning: 1s}
targetGroups:
  - {name: web-a, port: 80, deregistrationDelay: 10s, healthCheck: {interval: 5s, timeout: 2s, healthy: 2, unhealthy: 2}}
  - {name: web-b, port: 80, deregistrationDelay: 10s, healthCheck: {interval: 5s, timeout: 2s, healthy: 2, unhealthy: 2}}
loadBalancers:
  - name: edge
    listeners:
      - {port: 80, forward: {web-a: 1}}
      - {port: 8080, forward: {web-a: 1}}
      - {port: 9090, fixed: {status: 404, body: nothing}}
services:
  - {name: web, controller: CODE_DEPLOY, count: 3, image: "sim/web:v1?latency=20ms", port: 80, targetGroup: web-a}
deploymentConfigs:
  - {name: half, canary: 50, every: 2m}
  - {name: thirds, linear: 34, every: 1m}
applications:
  - name: shop
    groups:
      - name: web
        service: web
        targetGroups: [web-a, web-b]
        listener: "edge:80"
%s
%s
`

func newBench(t *testing.T, seed uint64, group, rest string) *bench {
	t.Helper()
	b := &bench{T: t, clock: &hands{time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)}, ctx: t.Context()}
	sim, err := awssim.New(awssim.Options{Clock: b.clock, Seed: seed, Strict: true, Direct: seed%5 != 0})
	b.ok(err)
	b.ok(sim.Load("world.yaml", fmt.Appendf(nil, place, indent(group), rest)))
	b.sim = sim
	b.Client = awscd.NewFromConfig(sim.Config(), func(o *awscd.Options) { o.Retryer = aws.NopRetryer{} })
	b.ecs = awsecs.NewFromConfig(sim.Config())
	return b
}

func indent(lines string) string {
	if lines == "" {
		return ""
	}
	return "        " + strings.ReplaceAll(strings.TrimSpace(lines), "\n", "\n        ")
}

func (b *bench) ok(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// pass lets time go by in steps of a second.
func (b *bench) pass(d time.Duration) {
	for end := b.clock.now.Add(d); b.clock.now.Before(end); {
		b.clock.now = b.clock.now.Add(time.Second)
		b.sim.World().Advance()
	}
}

// register makes a revision of the task definition of web.
func (b *bench) register(image string) string {
	b.Helper()
	out, err := b.ecs.RegisterTaskDefinition(b.ctx, &awsecs.RegisterTaskDefinitionInput{
		Family: aws.String("web"), NetworkMode: ecstypes.NetworkModeAwsvpc, Cpu: aws.String("256"),
		Memory:                  aws.String("512"),
		RequiresCompatibilities: []ecstypes.Compatibility{ecstypes.CompatibilityFargate},
		ContainerDefinitions: []ecstypes.ContainerDefinition{{Name: aws.String("web"), Image: &image,
			Essential:    aws.Bool(true),
			PortMappings: []ecstypes.PortMapping{{ContainerPort: aws.Int32(80)}}}},
	})
	b.ok(err)
	return *out.TaskDefinition.TaskDefinitionArn
}

// appspec is AppSpec content in YAML, with hooks by event.
func appspec(definition string, hooks ...string) string {
	text := "version: 0.0\nResources:\n  - TargetService:\n      Type: AWS::ECS::Service\n      Properties:\n       " +
		" TaskDefinition: " + definition +
		"\n        LoadBalancerInfo: {ContainerName: web, ContainerPort: 80}\n"
	if len(hooks) > 0 {
		text += "Hooks:\n"
	}
	for i := 0; i < len(hooks); i += 2 {
		text += "  - " + hooks[i] + ": " + hooks[i+1] + "\n"
	}
	return text
}

func input(content string) *awscd.CreateDeploymentInput {
	return &awscd.CreateDeploymentInput{ApplicationName: aws.String("shop"), DeploymentGroupName: aws.String("web"),
		Revision: &cdtypes.RevisionLocation{RevisionType: cdtypes.RevisionLocationTypeAppSpecContent,
			AppSpecContent: &cdtypes.AppSpecContent{Content: &content}}}
}

// deploy starts a deployment of an image.
func (b *bench) deploy(image, config string, hooks ...string) string {
	b.Helper()
	in := input(appspec(b.register(image), hooks...))
	if config != "" {
		in.DeploymentConfigName = &config
	}
	out, err := b.CreateDeployment(b.ctx, in)
	b.ok(err)
	return *out.DeploymentId
}

func (b *bench) get(id string) *cdtypes.DeploymentInfo {
	b.Helper()
	out, err := b.GetDeployment(b.ctx, &awscd.GetDeploymentInput{DeploymentId: &id})
	b.ok(err)
	return out.DeploymentInfo
}

func (b *bench) target(id string) *cdtypes.ECSTarget {
	b.Helper()
	out, err := b.BatchGetDeploymentTargets(b.ctx, &awscd.BatchGetDeploymentTargetsInput{DeploymentId: &id,
		TargetIds: []string{"prod:web"}})
	b.ok(err)
	return out.DeploymentTargets[0].EcsTarget
}

// event is the status of a lifecycle event, "" if the deployment has none of it.
func (b *bench) event(id, name string) cdtypes.LifecycleEventStatus {
	for _, e := range b.target(id).LifecycleEvents {
		if *e.LifecycleEventName == name {
			return e.Status
		}
	}
	return ""
}

// until lets time go by until f holds.
func (b *bench) until(what string, f func() bool) {
	b.Helper()
	for end := b.clock.now.Add(3 * time.Hour); !f(); b.pass(time.Second) {
		if b.clock.now.After(end) {
			b.Fatalf("never: %s", what)
		}
	}
}

// ends lets time go by until a deployment has ended.
func (b *bench) ends(id string) *cdtypes.DeploymentInfo {
	b.Helper()
	b.until(id+" ends", func() bool { return b.get(id).CompleteTime != nil })
	return b.get(id)
}

func (b *bench) service() ecstypes.Service {
	b.Helper()
	out, err := b.ecs.DescribeServices(b.ctx, &awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
		Services: []string{"web"}})
	b.ok(err)
	return out.Services[0]
}

// weights are those of the first rule of a listener, by target group.
func (b *bench) weights(port int32) map[string]int32 {
	b.Helper()
	for _, lb := range b.sim.View().Regions[0].LoadBalancers {
		for _, l := range lb.Listeners {
			if l.Port == port {
				all := map[string]int32{}
				for _, w := range l.Rules[0].Weights {
					all[strings.Split(w.Group, "/")[1]] = w.Weight
				}
				return all
			}
		}
	}
	b.Fatalf("no listener at %d", port)
	return nil
}

// do runs f as a step of the bench's Region.
func (b *bench) do(f func(*world.Tx)) {
	_ = b.sim.World().Do(world.Key{Account: "123456789012", Region: "us-east-1"}, func(tx *world.Tx) error {
		f(tx)
		return nil
	})
}

// refused checks an error's code and a part of its text.
func (b *bench) refused(err error, code, text string) {
	b.Helper()
	var api smithy.APIError
	if !errors.As(err, &api) || api.ErrorCode() != code || !strings.Contains(api.ErrorMessage(), text) {
		b.Errorf("got %v, want %s with %q", err, code, text)
	}
}
