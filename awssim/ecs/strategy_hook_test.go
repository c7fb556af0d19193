package ecs_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/awssim/world/worldtest"
)

// pauseAt is a PAUSE hook at stages, with a timeout of an hour.
func pauseAt(action ecstypes.DeploymentLifecycleHookAction,
	stages ...ecstypes.DeploymentLifecycleHookStage) ecstypes.DeploymentLifecycleHook {
	return ecstypes.DeploymentLifecycleHook{TargetType: "PAUSE", LifecycleStages: stages,
		TimeoutConfiguration: &ecstypes.DeploymentLifecycleHookTimeoutConfiguration{TimeoutInMinutes: aws.Int32(60),
			Action: action}}
}

func lambdaAt(name string, stages ...ecstypes.DeploymentLifecycleHookStage) ecstypes.DeploymentLifecycleHook {
	return ecstypes.DeploymentLifecycleHook{LifecycleStages: stages,
		HookTargetArn: aws.String("arn:aws:lambda:eu-west-1:123456789012:function:" + name),
		RoleArn:       aws.String("arn:aws:iam::123456789012:role/hooks")}
}

// awaiting returns the hook of a deployment that awaits an action, if there is one.
func awaiting(d ecstypes.ServiceDeployment) (h ecstypes.DeploymentLifecycleHookDetail, ok bool) {
	i := slices.IndexFunc(d.LifecycleHookDetails, func(h ecstypes.DeploymentLifecycleHookDetail) bool {
		return h.Status == "AWAITING_ACTION"
	})
	if i < 0 {
		return h, false
	}
	return d.LifecycleHookDetails[i], true
}

// pauses awaits the next pause of a deployment.
func (c *crossing) pauses(arn string) (d ecstypes.ServiceDeployment, h ecstypes.DeploymentLifecycleHookDetail) {
	c.Helper()
	d = c.until(arn, "a pause", 3*time.Hour, func(d ecstypes.ServiceDeployment) (ok bool) {
		h, ok = awaiting(d)
		return ok
	})
	return d, h
}

func (c *crossing) answer(arn string, h ecstypes.DeploymentLifecycleHookDetail,
	action ecstypes.DeploymentLifecycleHookAction) (*awsecs.ContinueServiceDeploymentOutput, error) {
	return c.api.ContinueServiceDeployment(c.ctx, &awsecs.ContinueServiceDeploymentInput{ServiceDeploymentArn: &arn,
		HookId: h.HookId, Action: action})
}

// Every pause has a new id. It holds the deployment until it is answered; then it cannot be answered
// again. All pauses of a stage must be answered.
func TestPausesAreAnsweredOneByOne(t *testing.T) {
	c := newCrossing(t, 30)
	c.start(blueGreen(1, pauseAt("ROLLBACK", "PRE_SCALE_UP", "POST_SCALE_UP", "POST_TEST_TRAFFIC_SHIFT",
		"PRE_PRODUCTION_TRAFFIC_SHIFT", "POST_PRODUCTION_TRAFFIC_SHIFT"), pauseAt("CONTINUE", "POST_SCALE_UP")))
	calls := c.call()
	arn := c.deploy(good)
	seen := map[string]bool{}
	for _, want := range []string{"PRE_SCALE_UP 100/0 100/0", "POST_SCALE_UP 100/0 100/0", "POST_SCALE_UP 100/0 100/0",
		"POST_TEST_TRAFFIC_SHIFT 100/0 0/100", "PRE_PRODUCTION_TRAFFIC_SHIFT 100/0 0/100",
		"POST_PRODUCTION_TRAFFIC_SHIFT 0/100 0/100"} {
		d, h := c.pauses(arn)
		c.pass(10 * time.Minute) // it holds
		d = c.see(arn)
		if got := fmt.Sprint(d.LifecycleStage, " ", c.weights(c.production), " ", c.weights(c.test)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		left := h.ExpiresAt.Sub(c.now)
		if !strings.HasPrefix(*h.HookId, "ecs-pause-") || seen[*h.HookId] || h.TargetType != "PAUSE" ||
			h.TargetArn != nil || left > 50*time.Minute || left < 30*time.Minute {
			t.Errorf("%+v, %s left", h, left)
		}
		seen[*h.HookId] = true
		must(c.answer(arn, h, ""))(t)
		refused(c.answer(arn, h, ""))(t, invalidParameter,
			"The lifecycle hook "+*h.HookId+" is not awaiting an action.")
	}
	d := c.ends(arn, "SUCCESSFUL")
	for _, h := range d.LifecycleHookDetails {
		if h.Status != "SUCCEEDED" {
			t.Errorf("%+v", h)
		}
	}
	refused(c.answer(arn, d.LifecycleHookDetails[0], "ROLLBACK"))(t, invalidParameter,
		"The service deployment cannot be continued because it is in the SUCCESSFUL state.")
	refused(c.answer(arn+"0", d.LifecycleHookDetails[0], ""))(t, "ServiceDeploymentNotFoundException",
		"Service deployment not found.")
	c.lostNone(calls, "v1", "v2")
}

// An answer, a timeout or a stop at a pause rolls back; a timeout may also continue.
func TestAPauseEndsInItsAction(t *testing.T) {
	for i, end := range []string{"answer", "timeout", "stop", "continue", "update"} {
		t.Run(end, func(t *testing.T) {
			c := newCrossing(t, uint64(40+i))
			action := ecstypes.DeploymentLifecycleHookActionRollback
			if end == "continue" {
				action = "CONTINUE"
			}
			c.start(blueGreen(0, pauseAt(action, "POST_PRODUCTION_TRAFFIC_SHIFT")))
			calls := c.call()
			arn := c.deploy(good)
			d, h := c.pauses(arn)
			if h.TimeoutAction != action || c.weights(c.production) != "0/100" {
				t.Errorf("%+v", h)
			}
			status, want := "FAILED", "ROLLBACK_SUCCESSFUL"
			switch end {
			case "answer":
				must(c.answer(arn, h, "ROLLBACK"))(t)
			case "stop":
				c.stop(arn)
				refused(c.answer(arn, h, ""))(t, invalidParameter,
					"The service deployment cannot be continued because it is in the ROLLBACK_REQUESTED state.")
			case "update":
				want = "STOPPED"
				c.update(&awsecs.UpdateServiceInput{TaskDefinition: c.register(third),
					DeploymentConfiguration: &ecstypes.DeploymentConfiguration{
						LifecycleHooks: []ecstypes.DeploymentLifecycleHook{}}})
			case "timeout":
				status = "TIMED_OUT"
				c.now = h.ExpiresAt.Add(-time.Second)
				if _, ok := awaiting(c.see(arn)); !ok {
					t.Error("it timed out early")
				}
			default:
				status, want = "TIMED_OUT", "SUCCESSFUL"
			}
			d = c.ends(arn, want)
			if got := string(d.LifecycleHookDetails[0].Status); got != status || len(d.LifecycleHookDetails) != 1 {
				t.Errorf("%s, want %s", got, status)
			}
			if r := calls.Report(); r.Failed != 0 {
				t.Errorf("%+v", r.First)
			}
			if want == "ROLLBACK_SUCCESSFUL" {
				c.isBackAtV1(d)
			}
		})
	}
}

// Hooks that are changed during a deployment apply to the next one. Changing them starts none.
func TestHooksAreThoseOfTheStart(t *testing.T) {
	c := newCrossing(t, 50)
	c.start(blueGreen(0, pauseAt("ROLLBACK", "POST_SCALE_UP")))
	arn := c.deploy(good)
	c.reaches(arn, "SCALE_UP")
	same := c.update(&awsecs.UpdateServiceInput{DeploymentConfiguration: &ecstypes.DeploymentConfiguration{
		LifecycleHooks: []ecstypes.DeploymentLifecycleHook{}}})
	d, h := c.pauses(arn)
	if same != arn || len(d.DeploymentConfiguration.LifecycleHooks) != 1 ||
		len(c.service().DeploymentConfiguration.LifecycleHooks) != 0 {
		t.Errorf("%s, %+v", same, d.DeploymentConfiguration)
	}
	must(c.answer(arn, h, "CONTINUE"))(t)
	c.ends(arn, "SUCCESSFUL")
	c.ends(c.deploy(third), "SUCCESSFUL") // without a pause
}

// Lambda hooks call functions of the world. One that fails or never reports rolls back. Hooks of the
// shift stages run again then, and their results do not count.
func TestLambdaHooks(t *testing.T) {
	for _, x := range []struct {
		result, status, hook string
		stage                ecstypes.DeploymentLifecycleHookStage
		calls                int
	}{
		{world.FunctionSucceeds, "SUCCESSFUL", "SUCCEEDED", "TEST_TRAFFIC_SHIFT", 1},
		{world.FunctionFails, "ROLLBACK_SUCCESSFUL", "FAILED", "PRODUCTION_TRAFFIC_SHIFT", 2},
		{world.FunctionHangs, "ROLLBACK_SUCCESSFUL", "TIMED_OUT", "POST_SCALE_UP", 1},
	} {
		c := newCrossing(t, 60)
		f := &world.Function{Name: "check", Result: x.result, After: time.Minute}
		_ = c.w.Do(worldtest.Key, func(tx *world.Tx) error {
			tx.Functions.Put("check", f)
			return nil
		})
		hook := lambdaAt("check", x.stage)
		hook.TimeoutConfiguration = &ecstypes.DeploymentLifecycleHookTimeoutConfiguration{TimeoutInMinutes: aws.Int32(5)}
		c.start(blueGreen(0, hook))
		arn := c.deploy(good)
		c.until(arn, "the call", time.Hour, func(d ecstypes.ServiceDeployment) bool {
			return len(d.LifecycleHookDetails) == 1 && d.LifecycleHookDetails[0].Status == "IN_PROGRESS" &&
				*d.LifecycleHookDetails[0].TargetArn == *hook.HookTargetArn && d.LifecycleStage ==
				ecstypes.ServiceDeploymentLifecycleStage(x.stage)
		})
		d := c.ends(arn, x.status)
		if got := string(d.LifecycleHookDetails[0].Status); got != x.hook || len(f.Calls) != x.calls ||
			f.Calls[0].Event != string(x.stage) {
			t.Errorf("%s: %s after %d calls", x.result, got, len(f.Calls))
		}
	}
}

// What AWS's references do not allow in a strategy, its hooks and its load balancers is refused.
func TestStrategiesAreRefused(t *testing.T) {
	c := newCrossing(t, 70)
	canary := func(percent float64, bake int32) func(*awsecs.CreateServiceInput) {
		return func(in *awsecs.CreateServiceInput) {
			in.DeploymentConfiguration = &ecstypes.DeploymentConfiguration{Strategy: "CANARY",
				CanaryConfiguration: &ecstypes.CanaryConfiguration{CanaryPercent: &percent, CanaryBakeTimeInMinutes: &bake}}
		}
	}
	linear := func(percent float64) func(*awsecs.CreateServiceInput) {
		return func(in *awsecs.CreateServiceInput) {
			in.DeploymentConfiguration = &ecstypes.DeploymentConfiguration{Strategy: "LINEAR",
				LinearConfiguration: &ecstypes.LinearConfiguration{StepPercent: &percent}}
		}
	}
	hook := func(h ecstypes.DeploymentLifecycleHook) func(*awsecs.CreateServiceInput) {
		return func(in *awsecs.CreateServiceInput) {
			in.DeploymentConfiguration.LifecycleHooks = []ecstypes.DeploymentLifecycleHook{h}
		}
	}
	pair := func(f func(*ecstypes.AdvancedConfiguration)) func(*awsecs.CreateServiceInput) {
		return func(in *awsecs.CreateServiceInput) { f(in.LoadBalancers[0].AdvancedConfiguration) }
	}
	long := pauseAt("", "POST_SCALE_UP")
	long.TimeoutConfiguration.TimeoutInMinutes = aws.Int32(20161)
	for text, edit := range map[string]func(*awsecs.CreateServiceInput){
		"bakeTimeInMinutes must be specified with the BLUE_GREEN deployment strategy.": func(in *awsecs.CreateServiceInput) {
			in.DeploymentConfiguration.BakeTimeInMinutes = nil
		},
		"canaryPercent must be a multiple of 0.1 between 0.1 and 100.0.": canary(5.05, 1),
		"canaryBakeTimeInMinutes must be between 0 and 1440.":            canary(5, 1441),
		"stepPercent must be a multiple of 0.1 between 3.0 and 100.0.":   linear(2.9),
		"linearConfiguration is only supported with the LINEAR deployment strategy.": func(in *awsecs.CreateServiceInput) {
			in.DeploymentConfiguration.LinearConfiguration = &ecstypes.LinearConfiguration{}
		},
		"lifecycleStages of a lifecycle hook can not be empty.": hook(pauseAt("")),
		"A lifecycle hook of type PAUSE is not supported at lifecycle stage PRODUCTION_TRAFFIC_SHIFT.": hook(
			pauseAt("", "PRODUCTION_TRAFFIC_SHIFT")),
		"timeoutInMinutes must be between 1 and 20160.": hook(long),
		"A lifecycle hook of type AWS_LAMBDA must have a hookTargetArn and a roleArn.": hook(ecstypes.DeploymentLifecycleHook{
			LifecycleStages: []ecstypes.DeploymentLifecycleHookStage{"POST_SCALE_UP"}}),
		"lifecycleHooks can have at most 10 items of type PAUSE.": func(in *awsecs.CreateServiceInput) {
			in.DeploymentConfiguration.LifecycleHooks = slices.Repeat([]ecstypes.DeploymentLifecycleHook{
				pauseAt("", "POST_SCALE_UP")}, 11)
		},
		"advancedConfiguration must be specified for load balancers with the BLUE_GREEN deployment strategy.": func(
			in *awsecs.CreateServiceInput) {
			in.LoadBalancers[0].AdvancedConfiguration = nil
		},
		"alternateTargetGroupArn must be different from targetGroupArn.": pair(func(a *ecstypes.AdvancedConfiguration) {
			a.AlternateTargetGroupArn = &c.group
		}),
		"roleArn of advancedConfiguration must be the ARN of a role.": pair(func(a *ecstypes.AdvancedConfiguration) {
			a.RoleArn = nil
		}),
		"testListenerRule must be different from productionListenerRule.": pair(func(a *ecstypes.AdvancedConfiguration) {
			a.TestListenerRule = a.ProductionListenerRule
		}),
		"The testListenerRule arn:aws:none does not exist.": pair(func(a *ecstypes.AdvancedConfiguration) {
			a.TestListenerRule = aws.String("arn:aws:none")
		}),
		"Early success criteria are only supported with the ROLLING deployment strategy.": func(
			in *awsecs.CreateServiceInput) {
			in.DeploymentConfiguration.EarlySuccessCriteria = &ecstypes.DeploymentEarlySuccessCriteria{Enable: true}
		},
		"The CANARY deployment strategy requires a load balancer or Service Connect.": func(in *awsecs.CreateServiceInput) {
			in.DeploymentConfiguration.Strategy, in.LoadBalancers = "CANARY", nil
		},
	} {
		conf := blueGreen(0)
		in := c.input("sim/web:v1", &conf)
		edit(in)
		refused(c.api.CreateService(c.ctx, in))(t, invalidParameter, text)
	}
}
