package terraform

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// waitFor returns the configuration of a wait for a revision of prod/web.
func waitFor(definition string) values {
	return values{"cluster": "prod", "service": "web", "task_definition": definition}
}

// with returns the values with others in addition.
func (v values) with(more values) values {
	out := values{}
	for name, one := range v {
		out[name] = one
	}
	for name, one := range more {
		out[name] = one
	}
	return out
}

// expect fails the test unless each attribute of a state is as wanted.
func (c *core) expect(state tftypes.Value, want map[string]any) {
	c.Helper()
	got := decode(state)
	for name, v := range want {
		if got[name] != v {
			c.Errorf("%s is %q, want %q", name, got[name], v)
		}
	}
}

// expectText fails the test unless the diagnostics contain all texts; none means no diagnostics.
func (c *core) expectText(got string, want ...string) {
	c.Helper()
	if len(want) == 0 && got != "" {
		c.Errorf("unexpected diagnostics: %s", got)
	}
	for _, text := range want {
		if !strings.Contains(got, text) {
			c.Errorf("no %q in %q", text, got)
		}
	}
}

func TestWaitSucceeds(t *testing.T) {
	t.Parallel()
	b := newBed(t, "rolling")
	c := newCore(t, values{"endpoint": b.url})
	arn := b.deploy("sim/web:v2", true)
	state, text := c.apply(c.nothing(), waitFor(arn))
	c.expectText(text)
	c.expect(state, map[string]any{"id": "prod/web", "outcome": "succeeded", "reasons": "", "rolled_back_to": "",
		"revision": "web:2"})
	if d := b.service().Deployments; len(d) != 1 || d[0].RolloutState != "COMPLETED" {
		t.Errorf("the deployment has not ended: %+v", d)
	}

	// Neither a plan nor a refresh nor a change of a limit calls AWS.
	calls := b.calls.Load()
	s := c.waitSchema()
	if plan := c.plan(state, waitFor(arn)); !c.unpack(s, plan.PlannedState).Equal(state) {
		t.Errorf("the plan is not empty: %v", decode(c.unpack(s, plan.PlannedState)))
	}
	c.expect(c.unpack(s, c.plan(state, waitFor("web:3")).PlannedState), map[string]any{"outcome": "?", "id": "prod/web"})
	read, err := c.server.ReadResource(context.Background(),
		&tfprotov6.ReadResourceRequest{TypeName: "sluice_wait", CurrentState: c.pack(s, state)})
	if err != nil || !c.unpack(s, read.NewState).Equal(state) {
		t.Errorf("a refresh changes the state: %v", err)
	}
	longer := waitFor(arn).with(values{"timeouts": map[string]any{"update": "1h"}})
	changed, text := c.apply(state, longer)
	c.expectText(text)
	c.expect(changed, map[string]any{"outcome": "succeeded"})
	gone, text := c.destroy(changed)
	c.expectText(text)
	if !gone.IsNull() {
		t.Error("a destroy keeps the state")
	}
	if n := b.calls.Load() - calls; n != 0 {
		t.Errorf("%d calls of AWS", n)
	}
	if *b.service().Status != "ACTIVE" || b.service().DesiredCount != 4 {
		t.Error("a destroy changed the service")
	}
}

// A change of the triggers alone waits for the new deployment of the same revision.
func TestTriggersWaitAgain(t *testing.T) {
	t.Parallel()
	b := newBed(t, "rolling")
	c := newCore(t, values{"endpoint": b.url})
	config := waitFor("web:1")
	state, text := c.apply(c.nothing(), config)
	c.expectText(text)
	b.update("web:1", true)
	state, text = c.apply(state, config.with(values{"triggers": map[string]any{"restart": "1"}}))
	c.expectText(text)
	c.expect(state, map[string]any{"outcome": "succeeded"})
	if d := b.service().Deployments; len(d) != 1 {
		t.Errorf("it did not wait for the new deployment: %+v", d)
	}
}

// A create that fails keeps the outcome, so that terraform marks the resource as tainted.
func TestFailedCreateKeepsTheOutcome(t *testing.T) {
	t.Parallel()
	b := newBed(t, "rolling")
	c := newCore(t, values{"endpoint": b.url})
	state, text := c.apply(c.nothing(), waitFor(b.deploy(crashes, true)))
	c.expectText(text, "ERROR: prod/web: rolled back", "exit code 3", "next: ")
	c.expect(state, map[string]any{"outcome": "rolled back", "rolled_back_to": "web:1", "revision": "web:2"})
	if reasons, _ := decode(state)["reasons"].(string); !strings.Contains(reasons, "exit code 3") {
		t.Errorf("reasons %q", reasons)
	}
}

// Without a circuit breaker, three tasks that stop for one reason end the wait.
func TestCrashLoopWithoutBreakerFails(t *testing.T) {
	t.Parallel()
	b := newBed(t, "rolling")
	c := newCore(t, values{"endpoint": b.url})
	_, text := c.apply(c.nothing(), waitFor(b.deploy(crashes, false)))
	c.expectText(text, "ERROR: prod/web: failed", "exit code 3")
}

// A version whose tasks run and then die again and again is no success: the circuit breaker does not count such deaths. If
// they die later than AWS reports success, bake shows it. A version without a death runs through the bake.
func TestTasksThatDieLater(t *testing.T) {
	for name, c := range map[string]struct {
		image, bake string
		want        []string
	}{
		"early":            {"sim/web:v2?oom-after=25s", "", []string{"ERROR: prod/web: ", "exit code 137"}},
		"late":             {"sim/web:v2?crash-after=70s&exit=3", "2m", []string{"ERROR: prod/web: failed", "exit code 3"}},
		"a good one bakes": {"sim/web:v2", "90s", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, "rolling")
			core := newCore(t, values{"endpoint": b.url})
			config := waitFor(b.deploy(c.image, true))
			if c.bake != "" {
				config = config.with(values{"bake": c.bake})
			}
			state, text := core.apply(core.nothing(), config)
			core.expectText(text, c.want...)
			if c.want != nil {
				return
			}
			b.expectBaked(90 * time.Second)
			calls := b.calls.Load()
			core.expect(state, map[string]any{"outcome": "succeeded", "bake": "90s"})
			changed, text := core.apply(state, config.with(values{"bake": "1h"}))
			core.expectText(text)
			core.expect(changed, map[string]any{"outcome": "succeeded", "bake": "1h"})
			if n := b.calls.Load() - calls; n != 0 {
				t.Errorf("another bake time alone made %d calls", n)
			}
		})
	}
}

// expectBaked requires that ECS has reported the success of prod/web for at least as long.
func (b *bed) expectBaked(d time.Duration) {
	b.Helper()
	all, err := b.aws.ecs.ListServiceDeployments(context.Background(), &awsecs.ListServiceDeploymentsInput{
		Cluster: aws.String("prod"), Service: aws.String("web")})
	if err != nil {
		b.Fatal(err)
	}
	if took := b.sim.World().Now().Sub(*all.ServiceDeployments[0].FinishedAt); took < d {
		b.Errorf("succeeded %s after ECS", took)
	}
}

// An update that fails keeps the former state, so that the next plan has the update again.
func TestFailedUpdateIsRetried(t *testing.T) {
	t.Parallel()
	b := newBed(t, "rolling")
	c := newCore(t, values{"endpoint": b.url})
	before, text := c.apply(c.nothing(), waitFor("web:1"))
	c.expectText(text)
	broken := b.deploy(crashes, true)
	state, text := c.apply(before, waitFor(broken))
	c.expectText(text, "ERROR: prod/web: rolled back")
	if !state.Equal(before) {
		t.Errorf("the state changed: %v", decode(state))
	}
	c.expect(c.unpack(c.waitSchema(), c.plan(state, waitFor(broken)).PlannedState), map[string]any{"outcome": "?"})
	state, text = c.apply(state, waitFor(b.deploy("sim/web:v3", true)))
	c.expectText(text)
	c.expect(state, map[string]any{"outcome": "succeeded", "revision": "web:3"})
}

// Without fail_on_error a failure is a warning, and the next plan waits again.
func TestFailureAsAWarning(t *testing.T) {
	t.Parallel()
	b := newBed(t, "rolling")
	c := newCore(t, values{"endpoint": b.url})
	config := waitFor(b.deploy(crashes, true)).with(values{"fail_on_error": false})
	state, text := c.apply(c.nothing(), config)
	c.expectText(text, "WARNING: prod/web: rolled back")
	c.expect(state, map[string]any{"outcome": "rolled back", "rolled_back_to": "web:1"})
	c.expect(c.unpack(c.waitSchema(), c.plan(state, config).PlannedState), map[string]any{"outcome": "?"})
}

func TestWaitEndsAtItsLimit(t *testing.T) {
	t.Parallel()
	b := newBed(t, "rolling")
	c := newCore(t, values{"endpoint": b.url})
	config := waitFor(b.deploy(hangs, true)).with(values{"timeouts": map[string]any{"create": "90s"}})
	_, text := c.apply(c.nothing(), config)
	c.expectText(text, "ERROR: prod/web: timed out", "1m30s passed")
}

// StopProvider, which terraform calls at an interrupt, ends the wait. Nothing is saved.
func TestStopEndsTheWait(t *testing.T) {
	t.Parallel()
	b := newBed(t, "rolling")
	c := newCore(t, values{"endpoint": b.url})
	config := waitFor(b.deploy(hangs, true)).with(values{"timeouts": map[string]any{"create": "50h"}})
	plan := c.plan(c.nothing(), config)
	ctx, stop := context.WithCancel(context.Background()) // tf6server ends the context at StopProvider
	defer stop()
	go func() {
		<-b.third
		stop()
	}()
	state, text := c.applyPlan(ctx, c.nothing(), config, plan)
	c.expectText(text, "ERROR: The wait for prod/web was cancelled", "The deployment continues")
	if !state.IsNull() {
		t.Errorf("state %v", decode(state))
	}
}

func TestWaitWithoutVerdict(t *testing.T) {
	t.Parallel()
	b := newBed(t, "rolling")
	c := newCore(t, values{"endpoint": b.url})
	for name, c1 := range map[string]struct {
		config values
		want   string
	}{
		"no cluster":  {values{"cluster": "none", "service": "web"}, "none"},
		"no revision": {waitFor("web:99"), "give family:revision or the ARN of a registered task definition"},
	} {
		state, text := c.apply(c.nothing(), c1.config)
		if !strings.Contains(text, "ERROR: Cannot wait for") || !strings.Contains(text, c1.want) || !state.IsNull() {
			t.Errorf("%s: %q %v", name, text, decode(state))
		}
	}
	_, text := c.apply(c.nothing(), values{"cluster": "prod", "service": "none"})
	c.expectText(text, "ERROR: prod/none: gone")
}

func TestWaitConfigurations(t *testing.T) {
	t.Parallel()
	c := newCore(t, values{"region": "us-east-1"})
	unknown := tftypes.NewValue(tftypes.String, tftypes.UnknownValue)
	for name, c1 := range map[string]struct {
		config values
		want   string
	}{
		"service":            {values{"service": "web"}, ""},
		"CodeDeploy":         {values{"deployment_id": "d-ABCDEF123"}, ""},
		"unknown":            {values{"service": unknown, "task_definition": unknown}, ""},
		"no service":         {values{"cluster": "prod"}, "No service given"},
		"a deployment alone": {values{"deployment_id": "ecs-svc/1"}, "No service given"},
		"both": {values{"service": "web", "task_definition": "web:1", "deployment_id": "ecs-svc/1"},
			"Both deployment_id and task_definition given"},
		"empty":    {values{"service": ""}, "Empty service"},
		"no limit": {values{"service": "web", "timeouts": map[string]any{"create": "soon"}}, `"soon" is not a duration`},
		"zero":     {values{"service": "web", "timeouts": map[string]any{"update": "0s"}}, `"0s" is not a duration`},
	} {
		if text := c.validate(c1.config); c1.want == "" && text != "" || !strings.Contains(text, c1.want) {
			t.Errorf("%s: %q, want %q", name, text, c1.want)
		}
	}
}

// Another cluster or service is another wait: terraform replaces the resource.
func TestOtherServiceReplaces(t *testing.T) {
	t.Parallel()
	c := newCore(t, values{"region": "us-east-1"})
	state := object(c.waitSchema(), waitFor("web:1").with(values{"id": "prod/web", "outcome": "succeeded",
		"fail_on_error": true, "message": "", "rolled_back_to": "", "revision": "web:1", "deployment": ""}))
	for name, replaces := range map[string]bool{"cluster": true, "service": true, "task_definition": false} {
		plan := c.plan(state, waitFor("web:1").with(values{name: "other"}))
		if got := len(plan.RequiresReplace) > 0; got != replaces {
			t.Errorf("%s: replace %t, want %t", name, got, replaces)
		}
	}
}

func TestProviderConfigurations(t *testing.T) {
	t.Parallel()
	c := newCore(t, values{})
	if text := c.configure(values{"assume_role": map[string]any{}}); !strings.Contains(text, "No role given") {
		t.Error(text)
	}
	for name, c1 := range map[string]struct {
		config values
		want   string
	}{
		"no URL":     {values{"endpoint": "nowhere"}, "endpoint"},
		"no Region":  {values{"region": "US EAST"}, `"US EAST" is not a Region name`},
		"no role":    {values{"assume_role": map[string]any{"role_arn": "deploy"}}, "role"},
		"no profile": {values{"profile": "none"}, "profile"},
	} {
		if text := c.configure(c1.config); text != "" {
			t.Fatalf("%s: %s", name, text)
		}
		_, text := c.apply(c.nothing(), waitFor("web:1"))
		if !strings.Contains(text, "Cannot wait for prod/web") || !strings.Contains(text, c1.want) ||
			strings.Contains(text, "--") {
			t.Errorf("%s: %q", name, text)
		}
	}
}
