package ecs_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/ecs"
)

// worldText is the world of the tests: service web of task sets and service api that ECS rolls.
const worldText = `
account: "123456789012"
region: us-east-1
subnets: [subnet-0123456789abcdef0, subnet-0123456789abcdef1, subnet-0123456789abcdef2]
clusters: [prod]
knobs: {loadBalancerProvisioning: 1s}
targetGroups:
  - {name: web, port: 80, deregistrationDelay: 10s}
  - {name: canary, port: 80, deregistrationDelay: 10s}
loadBalancers:
  - name: edge
    listeners: [{port: 80, forward: {web: 100, canary: 0}}]
services:
  - {name: web, controller: EXTERNAL, count: 2, image: "sim/web:v1", port: 80, targetGroup: web}
  - {name: api, controller: ECS, count: 2, image: "sim/api:v1", port: 80}
`

// bench is the world of these tests, and a client whose calls pass the call gate.
type bench struct {
	*testing.T
	sim     *awssim.Sim
	clock   *clock.Virtual
	account *account.Account
	api     *awsecs.Client
	plain   *awsecs.Client // of another actor: no call gate
	calls   map[string]int // by operation
	ctx     context.Context
}

// onWorld runs f in virtual time.
func onWorld(t *testing.T, f func(*bench)) {
	t.Helper()
	v := clock.NewVirtual(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))
	v.Run(func() {
		sim, err := awssim.New(awssim.Options{Clock: v, Seed: 1, Strict: true, Direct: true})
		b := &bench{T: t, sim: sim, clock: v, calls: map[string]int{}, ctx: context.Background()}
		b.check(err)
		b.check(sim.Load("world.yaml", []byte(worldText)))
		b.plain = awsecs.NewFromConfig(sim.Config())
		b.account, err = account.Open(b.ctx, account.Config{Region: sim.Region(), Credentials: sim.Config().Credentials,
			EndpointURL: awssim.Endpoint, HTTPClient: sim.HTTPClient(), APIOptions: sim.APIOptions(), Clock: v,
			OnCall: func(c account.Call) { b.calls[c.Operation]++ }})
		b.check(err)
		b.api = b.account.ECS()
		f(b)
	})
}

func (b *bench) check(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// act permits exactly the write.
func (b *bench) act(ctx context.Context, a sluice.Attempt, call func(context.Context) (string, error)) error {
	_, err := call(account.Permit(ctx, account.Action{ID: "d/s/a", Writes: []sluice.Write{a.Actual}}))
	if err != nil {
		return fmt.Errorf("%s: %w", a.Action, sluice.Inner(err))
	}
	return nil
}

// service returns the client of a service of the world.
func (b *bench) service(name string) ecs.Service {
	return ecs.Service{API: b.api, Cluster: "prod", Name: name}
}

func (b *bench) observe(name string) *ecs.ServiceState {
	b.Helper()
	live, err := b.service(name).Observe(b.ctx)
	b.check(err)
	return live
}

// until lets virtual time pass until so returns true. It fails the test after an hour.
func (b *bench) until(what string, so func() bool) {
	b.Helper()
	for range 3600 {
		if so() {
			return
		}
		b.check(b.clock.Sleep(b.ctx, time.Second))
	}
	b.Fatalf("an hour passed and not: %s", what)
}

// inject injects a fault.
func (b *bench) inject(fault string) {
	b.Helper()
	b.check(b.sim.Inject(fault))
}

// task returns a task definition whose container prints to a log.
func (b *bench) task(family, image string) *definition.Task {
	b.Helper()
	task, err := definition.DecodeTask("taskdef.yaml", fmt.Appendf(nil, `
family: %s
networkMode: awsvpc
requiresCompatibilities: [FARGATE]
cpu: 256
memory: 512
containerDefinitions:
  - name: app
    image: %q
    essential: true
    portMappings: [{containerPort: 80}]
    logConfiguration:
      logDriver: awslogs
      options: {awslogs-group: /ecs/app, awslogs-region: us-east-1,
        awslogs-stream-prefix: app, awslogs-create-group: "true"}
`, family, image))
	b.check(err)
	return task
}

// register registers a task definition of an image.
func (b *bench) register(family, image string) ecs.Revision {
	b.Helper()
	rev, err := ecs.Register(b.ctx, b.api, b.act, b.task(family, image))
	b.check(err)
	return rev
}

func network() *ecstypes.NetworkConfiguration {
	return &ecstypes.NetworkConfiguration{
		AwsvpcConfiguration: &ecstypes.AwsVpcConfiguration{Subnets: []string{"subnet-0123456789abcdef0"}}}
}

// targetGroup returns the ARN of a target group of the world.
func (b *bench) targetGroup(name string) string {
	b.Helper()
	out, err := b.account.ELB().DescribeTargetGroups(b.ctx, nil)
	b.check(err)
	for _, g := range out.TargetGroups {
		if aws.ToString(g.TargetGroupName) == name {
			return *g.TargetGroupArn
		}
	}
	b.Fatalf("no target group %s", name)
	return ""
}
