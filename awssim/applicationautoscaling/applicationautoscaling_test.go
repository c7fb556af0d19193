package applicationautoscaling_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsaas "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling"
	aastypes "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling/types"
	awscd "github.com/aws/aws-sdk-go-v2/service/codedeploy"
	cdtypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	smithy "github.com/aws/smithy-go"

	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// hands are a clock that is moved by hand.
type hands struct{ now time.Time }

// Now is the clock's time.
func (h *hands) Now() time.Time { return h.now }

// Sleep is not for tests.
func (h *hands) Sleep(context.Context, time.Duration) error { panic("nobody sleeps here") }

// bench is a simulated AWS with one service that is autoscaled.
type bench struct {
	*testing.T
	*awsaas.Client
	ecs    *awsecs.Client
	deploy *awscd.Client
	sim    *awssim.Sim
	clock  *hands
	ctx    context.Context
}

const place = `
account: "123456789012"
region: us-east-1
clusters: [prod]
knobs: {delays: none, provisioning: 5s}
targetGroups:
  - {name: web-a, port: 80, deregistrationDelay: 10s, healthCheck: {interval: 5s, timeout: 2s, healthy: 2, unhealthy: 2}}
  - {name: web-b, port: 80, deregistrationDelay: 10s, healthCheck: {interval: 5s, timeout: 2s, healthy: 2, unhealthy: 2}}
loadBalancers:
  - {name: edge, listeners: [{port: 80, forward: {web-a: 1, web-b: 0}}]}
services:
  - name: web
    controller: %s
    count: 4
    image: sim/web:v1
    targetGroup: web-a
`

func newBench(t *testing.T, controller, rest string) *bench {
	t.Helper()
	b := &bench{T: t, clock: &hands{time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)}, ctx: t.Context()}
	var err error
	b.sim, err = awssim.New(awssim.Options{Clock: b.clock, Strict: true})
	b.ok(err)
	b.ok(b.sim.Load("world.yaml", fmt.Appendf(nil, place+rest, controller)))
	b.Client, b.ecs, b.deploy = awsaas.NewFromConfig(b.sim.Config()), awsecs.NewFromConfig(b.sim.Config()),
		awscd.NewFromConfig(b.sim.Config())
	return b
}

func (b *bench) ok(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) pass(d time.Duration) {
	for end := b.clock.now.Add(d); b.clock.now.Before(end); {
		b.clock.now = b.clock.now.Add(time.Second)
		b.sim.World().Advance()
	}
}

var web = aws.String("service/prod/web")

func (b *bench) registers(in *awsaas.RegisterScalableTargetInput) {
	b.Helper()
	in.ServiceNamespace, in.ScalableDimension, in.ResourceId = "ecs", "ecs:service:DesiredCount", web
	_, err := b.RegisterScalableTarget(b.ctx, in)
	b.ok(err)
}

// tracks registers 2 to 10 tasks that are to be used at 50 percent.
func (b *bench) tracks() {
	b.Helper()
	b.registers(&awsaas.RegisterScalableTargetInput{MinCapacity: aws.Int32(2), MaxCapacity: aws.Int32(10)})
	_, err := b.PutScalingPolicy(b.ctx, policy("cpu"))
	b.ok(err)
}

func policy(name string) *awsaas.PutScalingPolicyInput {
	return &awsaas.PutScalingPolicyInput{ServiceNamespace: "ecs", ScalableDimension: "ecs:service:DesiredCount",
		ResourceId: web, PolicyName: &name,
		PolicyType: "TargetTrackingScaling",
		TargetTrackingScalingPolicyConfiguration: &aastypes.TargetTrackingScalingPolicyConfiguration{TargetValue: aws.Float64(50),
			PredefinedMetricSpecification: &aastypes.PredefinedMetricSpecification{PredefinedMetricType: "ECSServiceAverageCPUUtilization"}}}
}

// demand sets what the callers ask for, in percent of one task.
func (b *bench) demand(percent float64) {
	_ = b.sim.World().Do(world.Key{Account: "123456789012", Region: "us-east-1"}, func(tx *world.Tx) error {
		svc, _ := tx.Services.Get("prod/web")
		tx.SetDemand(svc, percent)
		return nil
	})
}

func (b *bench) desired() int32 {
	b.Helper()
	return b.service().DesiredCount
}

func (b *bench) service() ecstypes.Service {
	b.Helper()
	out, err := b.ecs.DescribeServices(b.ctx, &awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
		Services: []string{"web"}})
	b.ok(err)
	return out.Services[0]
}

func (b *bench) target() aastypes.ScalableTarget {
	b.Helper()
	out, err := b.DescribeScalableTargets(b.ctx, &awsaas.DescribeScalableTargetsInput{ServiceNamespace: "ecs",
		ResourceIds: []string{*web}})
	b.ok(err)
	return out.ScalableTargets[0]
}

func TestUtilizationIsTracked(t *testing.T) {
	b := newBench(t, "ECS", "")
	b.tracks()
	b.demand(200) // 50 percent of 4
	b.pass(30 * time.Minute)
	if n := b.desired(); n != 4 {
		t.Fatalf("on target: %d", n)
	}
	b.demand(320) // 80 percent
	b.pass(4 * time.Minute)
	if n := b.desired(); n != 7 {
		t.Errorf("above the target: %d", n)
	}
	b.demand(140) // 20 percent of 7
	b.pass(14 * time.Minute)
	if n := b.desired(); n != 7 {
		t.Errorf("not yet below it for fifteen minutes: %d", n)
	}
	b.pass(3 * time.Minute)
	if n := b.desired(); n != 3 {
		t.Errorf("below the target: %d", n)
	}
	b.demand(0)
	b.pass(time.Hour)
	if n := b.desired(); n != 2 {
		t.Errorf("the minimum: %d", n)
	}
	b.demand(10_000)
	b.pass(2 * time.Hour)
	if n := b.desired(); n != 10 {
		t.Errorf("the maximum: %d", n)
	}
	out, err := b.DescribeScalingActivities(b.ctx, &awsaas.DescribeScalingActivitiesInput{ServiceNamespace: "ecs"})
	b.ok(err)
	first := out.ScalingActivities[len(out.ScalingActivities)-1]
	if *first.Description != "Setting desired count to 7." || !strings.Contains(*first.Cause, "AlarmHigh-") ||
		!strings.HasSuffix(*first.Cause, "triggered policy cpu") || first.StatusCode != "Successful" {
		t.Errorf("%+v", first)
	}
}

func TestEveryRegistrationPullsTheCountIntoTheBounds(t *testing.T) {
	b := newBench(t, "EXTERNAL", "")
	b.registers(&awsaas.RegisterScalableTargetInput{MinCapacity: aws.Int32(6), MaxCapacity: aws.Int32(10)})
	if n := b.desired(); n != 6 {
		t.Errorf("the minimum: %d", n)
	}
	_, err := b.ecs.UpdateService(b.ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("prod"),
		Service: aws.String("web"), DesiredCount: aws.Int32(12)})
	b.ok(err)
	b.registers(&awsaas.RegisterScalableTargetInput{SuspendedState: &aastypes.SuspendedState{DynamicScalingInSuspended: aws.Bool(true), ScheduledScalingSuspended: aws.Bool(true)}})
	if n := b.desired(); n != 10 {
		t.Errorf("the maximum, by a suspension alone: %d", n)
	}
	x := b.target()
	if !*x.SuspendedState.DynamicScalingInSuspended || *x.SuspendedState.DynamicScalingOutSuspended ||
		!*x.SuspendedState.ScheduledScalingSuspended || *x.MinCapacity != 6 {
		t.Errorf("%+v", x)
	}
	b.registers(&awsaas.RegisterScalableTargetInput{MinCapacity: aws.Int32(1)})
	if y := b.target(); !*y.SuspendedState.DynamicScalingInSuspended || *y.MinCapacity != 1 || *y.MaxCapacity != 10 ||
		*y.ScalableTargetARN != *x.ScalableTargetARN {
		t.Errorf("what is left out stays: %+v", y)
	}
}

func TestWhatIsSuspendedIsNotDone(t *testing.T) {
	b := newBench(t, "ECS", "")
	b.tracks()
	off := &aastypes.SuspendedState{DynamicScalingInSuspended: aws.Bool(true),
		DynamicScalingOutSuspended: aws.Bool(true)}
	b.registers(&awsaas.RegisterScalableTargetInput{SuspendedState: off})
	b.demand(320)
	b.pass(30 * time.Minute)
	if n := b.desired(); n != 4 {
		t.Errorf("suspended: %d", n)
	}
	b.registers(&awsaas.RegisterScalableTargetInput{SuspendedState: &aastypes.SuspendedState{}})
	if n := b.desired(); n != 7 {
		t.Errorf("resumed, at once: %d", n)
	}
}

// What ECS and CodeDeploy deploy is not scaled in meanwhile; with the controller
// EXTERNAL that is the owner's business.
func TestScaleInWaitsForDeployments(t *testing.T) {
	for _, controller := range []string{"ECS", "CODE_DEPLOY", "EXTERNAL"} {
		rest := ""
		if controller == "CODE_DEPLOY" {
			rest = "applications:\n  - name: shop\n    groups:\n      - {name: web, service: web, targetGroups: " +
				"[web-a, web-b], listener: \"edge:80\", terminate: 60m}\n"
		}
		b := newBench(t, controller, rest)
		b.tracks()
		b.demand(40) // 10 percent of 4
		b.pass(10 * time.Minute)
		b.begin(controller)
		b.pass(25 * time.Minute)
		want := int32(4)
		if controller == "EXTERNAL" {
			want = 2
		}
		if n := b.desired(); n != want {
			t.Errorf("%s: %d tasks are desired during a deployment", controller, n)
		}
		b.demand(2000)
		b.pass(10 * time.Minute)
		if n := b.desired(); n <= 4 {
			t.Errorf("%s: scale-out goes on: %d", controller, n)
		}
	}
}

// begin starts a deployment that takes long.
func (b *bench) begin(controller string) {
	b.Helper()
	image := "sim/web:v2-noboot"
	if controller == "CODE_DEPLOY" {
		image = "sim/web:v2"
	}
	td, err := b.ecs.RegisterTaskDefinition(b.ctx, &awsecs.RegisterTaskDefinitionInput{Family: aws.String("web"),
		NetworkMode:             ecstypes.NetworkModeAwsvpc,
		RequiresCompatibilities: []ecstypes.Compatibility{ecstypes.CompatibilityFargate}, Cpu: aws.String("256"),
		Memory: aws.String("512"),
		ContainerDefinitions: []ecstypes.ContainerDefinition{{Name: aws.String("web"), Image: &image,
			PortMappings: []ecstypes.PortMapping{{ContainerPort: aws.Int32(80)}}}}})
	b.ok(err)
	arn := td.TaskDefinition.TaskDefinitionArn
	switch controller {
	case "ECS":
		_, err = b.ecs.UpdateService(b.ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("prod"),
			Service: aws.String("web"), TaskDefinition: arn})
	case "CODE_DEPLOY":
		spec := "version: 0.0\nResources:\n  - S: {Type: AWS::ECS::Service, Properties: {TaskDefinition: '" + *arn +
			"', LoadBalancerInfo: {ContainerName: web, ContainerPort: 80}}}\n"
		_, err = b.deploy.CreateDeployment(b.ctx, &awscd.CreateDeploymentInput{ApplicationName: aws.String("shop"),
			DeploymentGroupName: aws.String("web"),
			Revision: &cdtypes.RevisionLocation{RevisionType: "AppSpecContent",
				AppSpecContent: &cdtypes.AppSpecContent{Content: &spec}}})
	default:
		s := b.service().TaskSets[0]
		_, err = b.ecs.CreateTaskSet(b.ctx, &awsecs.CreateTaskSetInput{Cluster: aws.String("prod"),
			Service: aws.String("web"), TaskDefinition: arn,
			LaunchType: s.LaunchType, NetworkConfiguration: s.NetworkConfiguration})
	}
	b.ok(err)
}

func TestPoliciesAndActions(t *testing.T) {
	b := newBench(t, "ECS", "")
	b.tracks()
	_, err := b.PutScalingPolicy(b.ctx, &awsaas.PutScalingPolicyInput{ServiceNamespace: "ecs",
		ScalableDimension: "ecs:service:DesiredCount", ResourceId: web,
		PolicyName: aws.String("steps"),
		StepScalingPolicyConfiguration: &aastypes.StepScalingPolicyConfiguration{AdjustmentType: "ChangeInCapacity",
			StepAdjustments: []aastypes.StepAdjustment{{ScalingAdjustment: aws.Int32(1),
				MetricIntervalLowerBound: aws.Float64(0)}}}})
	b.ok(err)
	all, err := b.DescribeScalingPolicies(b.ctx, &awsaas.DescribeScalingPoliciesInput{ServiceNamespace: "ecs"})
	b.ok(err)
	if p := all.ScalingPolicies; len(p) != 2 || len(p[0].Alarms) != 2 || !strings.HasPrefix(*p[0].Alarms[0].AlarmName,
		"TargetTracking-service/prod/web-AlarmHigh-") ||
		*p[0].TargetTrackingScalingPolicyConfiguration.TargetValue != 50 ||
		*p[1].StepScalingPolicyConfiguration.StepAdjustments[0].ScalingAdjustment != 1 {
		t.Errorf("%+v", p)
	}
	_, err = b.PutScheduledAction(b.ctx, &awsaas.PutScheduledActionInput{ServiceNamespace: "ecs",
		ScalableDimension: "ecs:service:DesiredCount", ResourceId: web,
		ScheduledActionName: aws.String("morning"), Schedule: aws.String("at(2026-11-20T10:00:00)"),
		ScalableTargetAction: &aastypes.ScalableTargetAction{MinCapacity: aws.Int32(6)}})
	b.ok(err)
	actions, err := b.DescribeScheduledActions(b.ctx, &awsaas.DescribeScheduledActionsInput{ServiceNamespace: "ecs",
		ResourceId: web, ScalableDimension: "ecs:service:DesiredCount"})
	b.ok(err)
	if len(actions.ScheduledActions) != 1 || *actions.ScheduledActions[0].Schedule != "at(2026-11-20T10:00:00)" {
		t.Errorf("%+v", actions)
	}
	b.pass(59 * time.Minute)
	if n := b.desired(); n != 4 {
		t.Errorf("too early: %d", n)
	}
	b.pass(2 * time.Minute)
	if n := b.desired(); n != 6 || *b.target().MinCapacity != 6 {
		t.Errorf("at ten: %d", n)
	}
	_, err = b.DeleteScalingPolicy(b.ctx, &awsaas.DeleteScalingPolicyInput{ServiceNamespace: "ecs",
		ScalableDimension: "ecs:service:DesiredCount", ResourceId: web, PolicyName: aws.String("cpu")})
	b.ok(err)
	_, err = b.DeleteScheduledAction(b.ctx, &awsaas.DeleteScheduledActionInput{ServiceNamespace: "ecs",
		ScalableDimension: "ecs:service:DesiredCount", ResourceId: web, ScheduledActionName: aws.String("morning")})
	b.ok(err)
	_, err = b.DeregisterScalableTarget(b.ctx, &awsaas.DeregisterScalableTargetInput{ServiceNamespace: "ecs",
		ScalableDimension: "ecs:service:DesiredCount", ResourceId: web})
	b.ok(err)
	none, err := b.DescribeScalableTargets(b.ctx, &awsaas.DescribeScalableTargetsInput{ServiceNamespace: "ecs"})
	b.ok(err)
	b.demand(900)
	b.pass(20 * time.Minute)
	if len(none.ScalableTargets) != 0 || b.desired() != 6 {
		t.Errorf("%+v, %d", none, b.desired())
	}
	_, err = b.PutScalingPolicy(b.ctx, policy("cpu"))
	refused(t, err, "ObjectNotFoundException",
		"No scalable target registered for service namespace: ecs, resource ID: service/prod/web, scalable "+
			"dimension: ecs:service:DesiredCount")
}

func TestTargetsArePaged(t *testing.T) {
	b := newBench(t, "ECS", "")
	for i := range 60 {
		name := fmt.Sprintf("s%02d", i)
		_, err := b.ecs.CreateService(b.ctx, &awsecs.CreateServiceInput{Cluster: aws.String("prod"), ServiceName: &name,
			DesiredCount:         aws.Int32(0),
			DeploymentController: &ecstypes.DeploymentController{Type: "EXTERNAL"}})
		b.ok(err)
		_, err = b.RegisterScalableTarget(b.ctx, &awsaas.RegisterScalableTargetInput{ServiceNamespace: "ecs",
			ScalableDimension: "ecs:service:DesiredCount",
			ResourceId:        aws.String("service/prod/" + name), MinCapacity: aws.Int32(0),
			MaxCapacity: aws.Int32(1)})
		b.ok(err)
	}
	pages, n := awsaas.NewDescribeScalableTargetsPaginator(b.Client,
		&awsaas.DescribeScalableTargetsInput{ServiceNamespace: "ecs"}), []int{}
	for pages.HasMorePages() {
		p, err := pages.NextPage(b.ctx)
		b.ok(err)
		n = append(n, len(p.ScalableTargets))
	}
	if len(n) != 2 || n[0] != 50 || n[1] != 10 {
		t.Error(n)
	}
}

func TestNothingIsAutoscaledAtFirst(t *testing.T) {
	b := newBench(t, "ECS", "")
	out, err := b.DescribeScalableTargets(b.ctx, &awsaas.DescribeScalableTargetsInput{ServiceNamespace: "dynamodb"})
	if err != nil || len(out.ScalableTargets) != 0 || out.NextToken != nil {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestTheWorldFileHasTargets(t *testing.T) {
	b := newBench(t, "EXTERNAL", "    demand: 320\nscalableTargets:\n  - {service: web, min: 2, max: 10, suspended: "+
		"[in], policy: {name: cpu, target: 50}}\n")
	b.pass(4 * time.Minute)
	if x := b.target(); !*x.SuspendedState.DynamicScalingInSuspended || b.desired() != 7 {
		t.Errorf("%+v, %d", x, b.desired())
	}
}

func TestAResourceIsEnoughToAskFor(t *testing.T) {
	b := newBench(t, "ECS", "scalableTargets:\n  - {service: web, min: 2, max: 3, policy: {name: cpu, target: 50}}\n")
	acts, err := b.DescribeScalingActivities(b.ctx, &awsaas.DescribeScalingActivitiesInput{ServiceNamespace: "ecs",
		ResourceId: web})
	b.ok(err)
	policies, err := b.DescribeScalingPolicies(b.ctx, &awsaas.DescribeScalingPoliciesInput{ServiceNamespace: "ecs",
		ResourceId: web})
	b.ok(err)
	if len(acts.ScalingActivities) != 1 || len(policies.ScalingPolicies) != 1 {
		t.Fatalf("%+v, %+v", acts, policies)
	}
	if m := *acts.ScalingActivities[0].StatusMessage; m != "Successfully set desired count to 3. Change "+
		"successfully fulfilled by ecs." {
		t.Error(m)
	}
}

func TestTagsOfTargets(t *testing.T) {
	b := newBench(t, "ECS", "")
	in := &awsaas.RegisterScalableTargetInput{ServiceNamespace: "ecs", ScalableDimension: "ecs:service:DesiredCount",
		ResourceId:  web,
		MinCapacity: aws.Int32(1), MaxCapacity: aws.Int32(8), Tags: map[string]string{"team": "shop", "env": "prod"}}
	r, err := b.RegisterScalableTarget(b.ctx, in)
	b.ok(err)
	_, err = b.TagResource(b.ctx, &awsaas.TagResourceInput{ResourceARN: r.ScalableTargetARN,
		Tags: map[string]string{"env": "test"}})
	b.ok(err)
	_, err = b.UntagResource(b.ctx, &awsaas.UntagResourceInput{ResourceARN: r.ScalableTargetARN,
		TagKeys: []string{"team", "none"}})
	b.ok(err)
	list, err := b.ListTagsForResource(b.ctx, &awsaas.ListTagsForResourceInput{ResourceARN: r.ScalableTargetARN})
	b.ok(err)
	if len(list.Tags) != 1 || list.Tags["env"] != "test" {
		t.Error(list.Tags)
	}
	in.Tags = map[string]string{"aws:x": ""}
	_, err = b.RegisterScalableTarget(b.ctx, in)
	refused(t, err, "ValidationException", "aws:")
	_, err = b.ListTagsForResource(b.ctx, &awsaas.ListTagsForResourceInput{ResourceARN: aws.String("arn:aws:none")})
	refused(t, err, "ResourceNotFoundException", "arn:aws:none")
}

func TestRefusedCalls(t *testing.T) {
	b := newBench(t, "ECS", "")
	for text, in := range map[string]*awsaas.DescribeScalableTargetsInput{
		"enum value set: [ecs,":      {ServiceNamespace: "nope"},
		"'scalableDimension' failed": {ServiceNamespace: "ecs", ScalableDimension: "nope"},
		"Unsupported service namespace": {ServiceNamespace: "ecs",
			ScalableDimension: "dynamodb:table:ReadCapacityUnits"},
		"The resource ID must be specified":   {ServiceNamespace: "ecs", ScalableDimension: "ecs:service:DesiredCount"},
		"Unsupported service namespace, reso": {ServiceNamespace: "ecs", ResourceIds: []string{"c/s"}},
		"'maxResults'":                        {ServiceNamespace: "ecs", MaxResults: aws.Int32(51)},
	} {
		_, err := b.DescribeScalableTargets(b.ctx, in)
		refused(t, err, "ValidationException", text)
	}
	_, err := b.DescribeScalableTargets(b.ctx, &awsaas.DescribeScalableTargetsInput{ServiceNamespace: "foo",
		ScalableDimension: "bar"})
	refused(t, err, "ValidationException", "2 validation errors detected: Value 'foo' at 'serviceNamespace' failed to ")
	refused(t, err, "ValidationException", "]; Value 'bar' at 'scalableDimension' failed to satisfy constraint: Member "+
		"must satisfy enum value set: [ecs:service:DesiredCount, ")
	_, err = b.DescribeScalableTargets(b.ctx, &awsaas.DescribeScalableTargetsInput{ServiceNamespace: "ecs",
		NextToken: aws.String("x")})
	refused(t, err, "InvalidNextTokenException", "")
	for text, in := range map[string]*awsaas.RegisterScalableTargetInput{
		"ECS service doesn't exist: service/prod/none": {ResourceId: aws.String("service/prod/none"),
			MinCapacity: aws.Int32(1), MaxCapacity: aws.Int32(2)},
		"must be specified": {ResourceId: web, MinCapacity: aws.Int32(1)},
		"cannot be less than minimum": {ResourceId: web, MinCapacity: aws.Int32(3),
			MaxCapacity: aws.Int32(2)},
		"must not be negative": {ResourceId: web, MinCapacity: aws.Int32(-1),
			MaxCapacity: aws.Int32(2)},
		"Unsupported service namespace, resource type or sca": {ResourceId: aws.String("prod/web"),
			MinCapacity: aws.Int32(1), MaxCapacity: aws.Int32(2)},
	} {
		in.ServiceNamespace, in.ScalableDimension = "ecs", "ecs:service:DesiredCount"
		_, err := b.RegisterScalableTarget(b.ctx, in)
		refused(t, err, "ValidationException", text)
	}
}

func refused(t *testing.T, err error, code, text string) {
	t.Helper()
	var api smithy.APIError
	if !errors.As(err, &api) || api.ErrorCode() != code || !strings.Contains(api.ErrorMessage(), text) {
		t.Errorf("got %v, want %s with %q", err, code, text)
	}
}

// The metric must be above the target for three minutes, not for two.
func TestScaleOutTakesThreeMinutes(t *testing.T) {
	b := newBench(t, "ECS", "")
	b.tracks()
	b.demand(200)
	b.pass(10 * time.Minute)
	b.demand(320)
	b.pass(2*time.Minute + 55*time.Second)
	if n := b.desired(); n != 4 {
		t.Errorf("less than three minutes above the target: %d", n)
	}
	b.pass(70 * time.Second)
	if n := b.desired(); n != 7 {
		t.Errorf("more than three minutes above the target: %d", n)
	}
}
