package upkeep_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/upkeep"
)

// worldText has three services; the family of web has the name of the other family as its beginning.
const worldText = `
account: "123456789012"
region: us-east-1
subnets: [subnet-0123456789abcdef0]
clusters: [prod, test]
services:
  - {name: web, cluster: prod, controller: EXTERNAL, count: 1, image: "sim/web:v1", port: 80}
  - {name: web-admin, cluster: prod, controller: ECS, count: 1, image: "sim/web:v1", port: 80}
  - {name: idle, cluster: prod, controller: ECS, count: 1, image: "sim/web:v1", port: 80}
`

// bench is the world of a test and a client of it.
type bench struct {
	*testing.T
	sim   *awssim.Sim
	clock *clock.Virtual
	api   *awsecs.Client
	plain *awsecs.Client // of another actor: no call gate
	calls map[string]int // by operation
	ctx   context.Context

	results []string // of the writes that succeeded
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
		a, err := account.Open(b.ctx, account.Config{Region: sim.Region(), Credentials: sim.Config().Credentials,
			EndpointURL: awssim.Endpoint, HTTPClient: sim.HTTPClient(), APIOptions: sim.APIOptions(), Clock: v,
			OnCall: func(c account.Call) { b.calls[c.Operation]++ }})
		b.check(err)
		b.api = a.ECS()
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
	result, err := call(account.Permit(ctx, account.Action{ID: "d/s/a", Writes: []sluice.Write{a.Actual}}))
	if err != nil {
		return fmt.Errorf("%s: %w", a.Action, sluice.Inner(err))
	}
	b.results = append(b.results, result)
	return nil
}

// copyRevision registers the newest revision of web again.
func (b *bench) copyRevision() string {
	b.Helper()
	td, err := b.plain.DescribeTaskDefinition(b.ctx, &awsecs.DescribeTaskDefinitionInput{TaskDefinition: aws.String("web")})
	b.check(err)
	d := td.TaskDefinition
	out, err := b.plain.RegisterTaskDefinition(b.ctx, &awsecs.RegisterTaskDefinitionInput{Family: d.Family, Cpu: d.Cpu,
		Memory: d.Memory, NetworkMode: d.NetworkMode, ContainerDefinitions: d.ContainerDefinitions,
		RequiresCompatibilities: d.RequiresCompatibilities})
	b.check(err)
	return *out.TaskDefinition.TaskDefinitionArn
}

// Services of any cluster use a revision, also without tasks, and so do tasks that no service started. A family
// whose name begins with the name has other revisions.
func TestUsersOfAFamily(t *testing.T) {
	onWorld(t, func(b *bench) {
		second, third, _ := b.copyRevision(), b.copyRevision(), b.copyRevision()
		_, err := b.plain.UpdateService(b.ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("prod"),
			Service: aws.String("idle"), TaskDefinition: &second, DesiredCount: aws.Int32(0)})
		b.check(err)
		live, err := ecs.Service{API: b.api, Cluster: "prod", Name: "web-admin"}.Observe(b.ctx)
		b.check(err)
		_, err = b.plain.RunTask(b.ctx, &awsecs.RunTaskInput{Cluster: aws.String("test"), TaskDefinition: &third,
			NetworkConfiguration: live.Raw.NetworkConfiguration, LaunchType: "FARGATE", ClientToken: aws.String("t")})
		b.check(err)
		b.check(b.clock.Sleep(b.ctx, 20*time.Minute)) // idle has no task and no old deployment any more

		web := upkeep.Family{API: b.api, Name: "web"}
		all, err := web.ListActive(b.ctx)
		b.check(err)
		users, err := web.Users(b.ctx)
		b.check(err)
		var lines []string
		for _, rev := range all {
			lines = append(lines, rev.Name+" "+strings.Join(users[rev.Name], ", "))
		}
		want := []string{"web:4 ", "web:3 tasks in test", "web:2 service prod/idle", "web:1 service prod/web, tasks in prod"}
		if !slices.Equal(lines, want) {
			t.Errorf("%q, not %q", lines, want)
		}
		if n := b.calls["DescribeServices"]; n != 2 { // one for Observe, one for the three services of prod
			t.Errorf("%d reads of services", n)
		}
	})
}

// Revisions are deleted ten at a time, and one that is still ACTIVE is an error.
func TestDeleteRevisions(t *testing.T) {
	onWorld(t, func(b *bench) {
		var old []ecs.Revision
		for range 12 {
			arn := b.copyRevision()
			old = append(old, ecs.Revision{ARN: arn, Name: sluice.RevisionOf(arn)})
		}
		web := upkeep.Family{API: b.api, Name: "web"}
		if err := web.Delete(b.ctx, b.act, old[:1]); err == nil || !strings.Contains(err.Error(), "web:2: The specified task "+
			"definition is still in ACTIVE status") {
			t.Errorf("%v", err)
		}
		for _, rev := range old {
			_, err := b.plain.DeregisterTaskDefinition(b.ctx, &awsecs.DeregisterTaskDefinitionInput{TaskDefinition: &rev.ARN})
			b.check(err)
		}
		b.calls["DeleteTaskDefinitions"] = 0
		b.check(web.Delete(b.ctx, b.act, old))
		if n := b.calls["DeleteTaskDefinitions"]; n != 2 {
			t.Errorf("%d calls", n)
		}
		left, err := web.ListInactive(b.ctx)
		b.check(err)
		if len(left) > 0 {
			t.Errorf("still INACTIVE: %v", left)
		}
	})
}

// A service is deleted once. After a lost response, a new service of the same name stays.
// deleteResults are the results of a deleted service under a fault: also a read proves the write.
var deleteResults = map[string]string{"": "DRAINING", "no-send ecs:DeleteService times=1": "DRAINING",
	"lost-reply ecs:DeleteService times=1": "DRAINING, as a read shows (the response was lost)"}

func TestDeleteService(t *testing.T) {
	for fault, deletes := range map[string]int{"": 1, "lost-reply ecs:DeleteService times=1": 1,
		"no-send ecs:DeleteService times=1": 2} {
		onWorld(t, func(b *bench) {
			service := ecs.Service{API: b.api, Cluster: "prod", Name: "idle"}
			live, err := service.Observe(b.ctx)
			b.check(err)
			if err := upkeep.DeleteService(b.ctx, service, b.act, live.ARN, false); err == nil ||
				!strings.Contains(err.Error(), "scaled") {
				t.Errorf("%q: a service with tasks: %v", fault, err)
			}
			if fault != "" {
				b.check(b.sim.Inject(fault))
			}
			b.calls["DeleteService"] = 0
			b.check(upkeep.DeleteService(b.ctx, service, b.act, live.ARN, true))
			if want := deleteResults[fault]; !slices.Equal(b.results, []string{want}) {
				t.Errorf("%q: the results are %q, want only %q", fault, b.results, want)
			}
			if n := b.calls["DeleteService"]; n != deletes {
				t.Errorf("%q: %d calls", fault, n)
			}
			if live, err = service.Observe(b.ctx); err != nil || live.IsActive() {
				t.Errorf("%q: %+v %v", fault, live, err)
			}
			b.check(upkeep.DeleteService(b.ctx, service, b.act, live.ARN, true)) // it is deleted already
		})
	}
}
