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
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/codedeploy"
	"github.com/sluice-ecs/sluice/internal/definition/appspec"
)

var dawn = time.Now().UTC().Truncate(time.Hour).Add(24 * time.Hour)

// place is the world of the tests; %s is the rest of the file.
const place = `
account: "123456789012"
region: us-east-1
clusters: [prod]
knobs: {loadBalancerProvisioning: 1s}
targetGroups:
  - {name: web-a, port: 80, deregistrationDelay: 10s}
  - {name: web-b, port: 80, deregistrationDelay: 10s}
  - {name: api, port: 80}
loadBalancers:
  - name: edge
    listeners: [{port: 80, forward: {web-a: 1}}, {port: 8080, forward: {web-a: 1}}]
  - name: inner
    listeners: [{port: 80, forward: {api: 1}}]
services:
  - {name: web, controller: CODE_DEPLOY, count: 1, image: "sim/web:v1", port: 80, targetGroup: web-a}
  - {name: api, controller: CODE_DEPLOY, count: 1, image: "sim/api:v1", port: 80, targetGroup: api}
deploymentConfigs:
  - {name: half, canary: 50, every: 2m}
applications:
%s
  - name: shop
    groups:
      - name: web
        service: web
        targetGroups: [web-a, web-b]
        listener: "edge:80"
        testListener: "edge:8080"
        config: half
        ready: 10m
        terminate: 5m
        rollback: [DEPLOYMENT_FAILURE, DEPLOYMENT_STOP_ON_REQUEST]
`

var web = codedeploy.Group{Application: "shop", Name: "web"}

type bench struct {
	*testing.T
	codedeploy.Client
	sim   *awssim.Sim
	clock *clock.Virtual
	ecs   *awsecs.Client
	calls []string
	ctx   context.Context
}

func on(t *testing.T, applications int, f func(*bench)) {
	t.Helper()
	v := clock.NewVirtual(dawn)
	v.Run(func() {
		sim, err := awssim.New(awssim.Options{Clock: v, Strict: true, Direct: true})
		b := &bench{T: t, sim: sim, clock: v, ctx: context.Background()}
		b.ok(err)
		rest := ""
		for i := range applications {
			rest += fmt.Sprintf("  - {name: other-%03d}\n", i)
		}
		b.ok(sim.Load("world.yaml", fmt.Appendf(nil, place, rest)))
		b.ecs = awsecs.NewFromConfig(sim.Config())
		cfg := sim.Config()
		a, err := account.Open(b.ctx, account.Config{Region: cfg.Region, Credentials: cfg.Credentials,
			EndpointURL: awssim.Endpoint, HTTPClient: sim.HTTPClient(),
			APIOptions: sim.APIOptions(), Clock: v, OnCall: func(c account.Call) {
				b.calls = append(b.calls,
					c.Operation)
			}})
		b.ok(err)
		b.API = a.CodeDeploy()
		f(b)
	})
}

func (b *bench) ok(err error) {
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

func (b *bench) count(operation string) (n int) {
	for _, c := range b.calls {
		if c == operation {
			n++
		}
	}
	return n
}

// start is a deployment of a new revision of web under the identity.
func (b *bench) start(by sluice.ActionID) codedeploy.StartRequest {
	b.Helper()
	td, err := b.ecs.RegisterTaskDefinition(b.ctx, &awsecs.RegisterTaskDefinitionInput{Family: aws.String("web"),
		NetworkMode: ecstypes.NetworkModeAwsvpc,
		Cpu:         aws.String("256"), Memory: aws.String("512"),
		RequiresCompatibilities: []ecstypes.Compatibility{ecstypes.CompatibilityFargate},
		ContainerDefinitions: []ecstypes.ContainerDefinition{{Name: aws.String("web"), Image: aws.String("sim/web:v2"),
			Essential:    aws.Bool(true),
			PortMappings: []ecstypes.PortMapping{{ContainerPort: aws.Int32(80)}}}}})
	b.ok(err)
	spec, err := appspec.New(&awsecs.CreateServiceInput{LoadBalancers: []ecstypes.LoadBalancer{
		{TargetGroupArn: aws.String("arn:of-web-a"), ContainerName: aws.String("web"), ContainerPort: aws.Int32(80)}}},
		*td.TaskDefinition.TaskDefinitionArn, nil)
	b.ok(err)
	return codedeploy.StartRequest{Group: web, AppSpec: spec, By: by}
}

func (b *bench) deployments() []string {
	b.Helper()
	out, err := b.API.ListDeployments(b.ctx, &awscd.ListDeploymentsInput{})
	b.ok(err)
	return out.Deployments
}

func (b *bench) until(what string, so func() bool) {
	b.Helper()
	for range 1200 {
		if so() {
			return
		}
		b.ok(b.clock.Sleep(b.ctx, time.Second))
	}
	b.Fatal("never: " + what)
}

func (b *bench) status(id string) string {
	b.Helper()
	d, err := b.GetDeployment(b.ctx, id)
	b.ok(err)
	if d == nil {
		return ""
	}
	return d.Status
}

// refused fails the test unless the error is of the kind and has the words.
func (b *bench) refused(err error, kind sluice.Kind, words ...string) {
	b.Helper()
	if err == nil || sluice.KindOf(err) != kind {
		b.Errorf("%v is of kind %q, want %q", err, sluice.KindOf(err), kind)
		return
	}
	for _, w := range append(words, "") {
		if !strings.Contains(err.Error(), w) {
			b.Errorf("%q is not in %q", w, err)
		}
	}
	if sluice.NextStep(err) == "" {
		b.Errorf("%v says nothing of what to do", err)
	}
}

func TestAGroupIsFoundByItsService(t *testing.T) {
	on(t, 250, func(b *bench) {
		s, err := b.FindGroup(b.ctx, codedeploy.Group{}, "arn:aws:ecs:us-east-1:123456789012:cluster/prod", "web", nil)
		b.ok(err)
		if s.Group != web || s.Config != "half" || s.Ready != 10*time.Minute || s.Terminate != 5*time.Minute ||
			s.KeepBlue || len(s.RollbackEvents) != 2 ||
			len(s.TargetGroups) != 2 || s.Listener == s.TestListener || s.TestListener == "" || !s.Last.Ended() {
			t.Errorf("%+v", s)
		}
		if n := b.count("ListApplications"); n != 3 {
			t.Errorf("%d pages", n)
		}
		_, err = b.FindGroup(b.ctx, codedeploy.Group{}, "prod", "api", nil)
		b.refused(err, sluice.NotFound, "none of the deployment groups of 251 applications deploys this service")
		_, err = b.FindGroup(b.ctx, codedeploy.Group{Application: "other-007"}, "prod", "web", nil)
		b.refused(err, sluice.NotFound, "in application other-007")
	})
}

func TestADeploymentIsReadWithItsGroupInTwoCalls(t *testing.T) {
	on(t, 250, func(b *bench) {
		id, _, err := b.EnsureDeployment(b.ctx, b.act, b.start("d1/1 ECS_SYNC/create deployment"))
		b.ok(err)
		b.calls = nil
		s, err := b.FindGroup(b.ctx, codedeploy.Group{}, "prod", "web", []string{"", id})
		b.ok(err)
		if s.Group != web || s.Last.ID != id || s.Last.Ended() || len(b.calls) != 2 {
			t.Errorf("%+v after %v", s, b.calls)
		}
		if s, err = b.FindGroup(b.ctx, codedeploy.Group{}, "prod", "web", []string{"d-UNKNOWN00"}); err != nil ||
			s.Group != web {
			t.Errorf("%+v, %v", s, err)
		}
	})
}

func TestANamedGroupIsReadAndChecked(t *testing.T) {
	on(t, 0, func(b *bench) {
		s, err := b.FindGroup(b.ctx, web, "prod", "web", nil)
		if err != nil || s.Group != web || len(b.calls) != 1 {
			t.Errorf("%+v %v after %v", s, err, b.calls)
		}
		_, err = b.FindGroup(b.ctx, web, "prod", "api", nil)
		b.refused(err, sluice.Conflict, "it deploys service prod/web")
		_, err = b.FindGroup(b.ctx, codedeploy.Group{Application: "shop", Name: "wbe"}, "prod", "web", nil)
		b.refused(err, sluice.NotFound, "no such deployment group")
		_, err = b.FindGroup(b.ctx, codedeploy.Group{Application: "shoo", Name: "web"}, "prod", "web", nil)
		b.refused(err, sluice.NotFound, "no such application")
		b.ok(b.sim.Inject("throttle codedeploy:* times=2"))
		if _, err = b.FindGroup(b.ctx, codedeploy.Group{}, "prod", "web", nil); err != nil {
			t.Errorf("a throttled search: %v", err)
		}
	})
}

func TestADeploymentIsMadeOnce(t *testing.T) {
	for _, fault := range []string{"", "lost-reply codedeploy:CreateDeployment times=1",
		"5xx codedeploy:CreateDeployment times=1", "no-send codedeploy:CreateDeployment times=1"} {
		on(t, 0, func(b *bench) {
			s := b.start("d1/1 ECS_SYNC/create deployment")
			s.NeverTried = true
			if fault != "" {
				b.ok(b.sim.Inject(fault))
			}
			id, _, err := b.EnsureDeployment(b.ctx, b.act, s)
			b.ok(err)
			s.NeverTried = false
			again, found, err := b.EnsureDeployment(b.ctx, b.act, s)
			if all := b.deployments(); err != nil || again != id || !found || len(all) != 1 {
				t.Errorf("%s: %s, then %s (%t) of %v: %v", fault, id, again, found, all, err)
			}
		})
	}
}

func TestDeploymentOfAnotherActorIsNamed(t *testing.T) {
	on(t, 0, func(b *bench) {
		other, _, err := b.EnsureDeployment(b.ctx, b.act, b.start("d0/1 ECS_SYNC/create deployment"))
		b.ok(err)
		s := b.start("d1/1 ECS_SYNC/create deployment")
		_, _, err = b.EnsureDeployment(b.ctx, b.act, s)
		b.refused(err, sluice.Overtaken, other)
		if !errors.Is(err, codedeploy.ErrBusy) || len(b.deployments()) != 1 {
			t.Errorf("%v", err)
		}
		if id, err := b.RunningDeployment(b.ctx, web); id != other || err != nil {
			t.Errorf("%s %v", id, err)
		}
		if id, err := b.RunningOfService(b.ctx, "prod", "web"); id != other || err != nil {
			t.Errorf("%s %v", id, err)
		}
		if id, err := b.RunningOfService(b.ctx, "prod", "api"); id != "" || err != nil {
			t.Errorf("%s %v", id, err)
		}
	})
}

func TestADeploymentIsStoppedAndContinued(t *testing.T) {
	on(t, 0, func(b *bench) {
		s := b.start("d1/1 ECS_SYNC/create deployment")
		s.Config, s.Rollback = "CodeDeployDefault.ECSAllAtOnce", []string{"DEPLOYMENT_FAILURE"}
		id, _, err := b.EnsureDeployment(b.ctx, b.act, s)
		b.ok(err)
		if done, err := b.Continue(b.ctx, b.act, "deployment of web", id, false); done || err != nil {
			t.Errorf("continued too early: %t %v", done, err)
		}
		b.until("ready", func() bool { return b.status(id) == "Ready" })
		b.ok(b.sim.Inject("lost-reply codedeploy:ContinueDeployment times=1"))
		if done, err := b.Continue(b.ctx, b.act, "deployment of web", id, false); !done || err != nil {
			t.Errorf("%t %v", done, err)
		}
		b.until("all traffic", func() bool {
			c, err := b.ReadTarget(b.ctx, id, "prod", "web")
			b.ok(err)
			return c.Green != nil && c.Green.Weight == 100
		})
		d, err := b.GetDeployment(b.ctx, id)
		b.ok(err)
		if arn, err := b.RevisionOf(b.ctx, d); sluice.RevisionOf(arn) != "web:2" || err != nil ||
			d.Config != s.Config || len(d.RollbackOn) != 1 || d.Terminate != 5*time.Minute {
			t.Errorf("%+v brings %s: %v", d, arn, err)
		}
		if stopped, err := b.Stop(b.ctx, b.act, "deployment of web", id, true); !stopped || err != nil {
			t.Errorf("%t %v", stopped, err)
		}
		b.until("stopped", func() bool { return b.status(id) == "Stopped" })
		d, err = b.GetDeployment(b.ctx, id)
		if err != nil || d.RollbackID == "" || d.Code != "MANUAL_STOP" {
			t.Errorf("%+v %v", d, err)
		}
		b.until("rolled back", func() bool { return b.status(d.RollbackID) == "Succeeded" })
		if stopped, err := b.Stop(b.ctx, b.act, "deployment of web", id, true); stopped || err != nil {
			t.Errorf("what is over: %t %v", stopped, err)
		}
		back, err := b.GetDeployment(b.ctx, d.RollbackID)
		if err != nil || !back.IsRollback() || back.RollbackOf != id {
			t.Errorf("%+v %v", back, err)
		}
	})
}

func TestWhatAWSDoesNotKnow(t *testing.T) {
	on(t, 0, func(b *bench) {
		if d, err := b.GetDeployment(b.ctx, "d-UNKNOWN00"); d != nil || err != nil {
			t.Errorf("%+v %v", d, err)
		}
		if c, err := b.ReadTarget(b.ctx, "d-UNKNOWN00", "prod", "web"); c != nil || err != nil {
			t.Errorf("%+v %v", c, err)
		}
		if arn, err := b.RevisionByHash(b.ctx, "shop", strings.Repeat("0", 64)); arn != "" || err != nil {
			t.Errorf("%s %v", arn, err)
		}
		id, _, err := b.EnsureDeployment(b.ctx, b.act, b.start("d1/1 ECS_SYNC/create deployment"))
		b.ok(err)
		// asks for the target's name
		if c, err := b.ReadTarget(b.ctx, id, "", ""); err != nil || c == nil || c.Deployment != id {
			t.Errorf("%+v %v", c, err)
		}
	})
}

// Several groups of one service cannot be made at AWS today; the answer to them is
// tested on what a search may find.
func TestSeveralGroupsOfOneServiceAreListed(t *testing.T) {
	on(t, 0, func(b *bench) {
		group := func(application, name string) codedeploy.GroupSettings {
			return codedeploy.GroupSettings{Group: codedeploy.Group{Application: application, Name: name},
				Cluster: "prod", Service: "web"}
		}
		x := codedeploy.IndexOf(2, group("shop", "web"), group("old", "web-2020"))
		_, err := x.GroupOf("prod", "web", codedeploy.Group{})
		b.refused(err, sluice.Conflict, "2 deployment groups deploy this service: old/web-2020, shop/web")
		if s, err := x.GroupOf("prod", "web", codedeploy.Group{Name: "web"}); err != nil || s.Group != web {
			t.Errorf("%+v %v", s, err)
		}
	})
}

func TestEventsAreChecked(t *testing.T) {
	if err := codedeploy.CheckEvents([]string{"DEPLOYMENT_FAILURE", "DEPLOYMENT_STOP_ON_ALARM",
		"DEPLOYMENT_STOP_ON_REQUEST"}); err != nil {
		t.Error(err)
	}
	for _, wrong := range [][]string{{"FAILURE"}, {""}, {"DEPLOYMENT_FAILURE", "DEPLOYMENT_FAILURE"}} {
		if codedeploy.CheckEvents(wrong) == nil {
			t.Errorf("%q was taken", wrong)
		}
	}
	if url := codedeploy.ConsoleURL("eu-west-1",
		"d-1"); url != "https://eu-west-1.console.aws.amazon.com/codesuite/codedeploy/deployments/d-1?region=eu-west-1" {
		t.Error(url)
	}
}
