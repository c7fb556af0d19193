package ecs_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
)

func canary(percent float64, bake int32, hooks ...ecstypes.DeploymentLifecycleHook) ecstypes.DeploymentConfiguration {
	return ecstypes.DeploymentConfiguration{Strategy: "CANARY", LifecycleHooks: hooks, BakeTimeInMinutes: aws.Int32(2),
		CanaryConfiguration: &ecstypes.CanaryConfiguration{CanaryPercent: &percent, CanaryBakeTimeInMinutes: &bake}}
}

func linear(step float64, bake int32, hooks ...ecstypes.DeploymentLifecycleHook) ecstypes.DeploymentConfiguration {
	return ecstypes.DeploymentConfiguration{Strategy: "LINEAR", LifecycleHooks: hooks, BakeTimeInMinutes: aws.Int32(2),
		LinearConfiguration: &ecstypes.LinearConfiguration{StepPercent: &step, StepBakeTimeInMinutes: &bake}}
}

// Each shift has its weights in the rule and its bake time; a deployment that does not pause passes
// all of them, and loses no request.
func TestStepsOfCanaryAndLinear(t *testing.T) {
	for i, x := range []struct {
		conf  ecstypes.DeploymentConfiguration
		bake  time.Duration
		steps []string // blue/green in tenths
	}{
		{canary(5, 10), 10 * time.Minute, []string{"95/5", "0/100"}},
		{canary(0.1, 1), time.Minute, []string{"999/1", "0/100"}},
		{canary(100, 5), 5 * time.Minute, []string{"0/100"}},
		{linear(25, 3), 3 * time.Minute, []string{"75/25", "50/50", "25/75", "0/100"}},
		{linear(33.3, 0), 0, []string{"667/333", "334/666", "1/999", "0/100"}},
		{ecstypes.DeploymentConfiguration{Strategy: "LINEAR"}, 6 * time.Minute, []string{"90/10", "80/20", "70/30",
			"60/40", "50/50", "40/60", "30/70", "20/80", "10/90", "0/100"}},
		{ecstypes.DeploymentConfiguration{Strategy: "CANARY"}, 10 * time.Minute, []string{"95/5", "0/100"}},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			c := newCrossing(t, uint64(80+i))
			c.start(x.conf)
			calls := c.call()
			arn := c.deploy(good)
			var steps []string
			var times []time.Time
			d := c.until(arn, "the end", 3*time.Hour, func(d ecstypes.ServiceDeployment) bool {
				if w := c.weights(c.production); w != "100/0" && (len(steps) == 0 || steps[len(steps)-1] != w) {
					steps, times = append(steps, w), append(times, c.now)
				}
				return d.FinishedAt != nil
			})
			if d.Status != "SUCCESSFUL" || !slices.Equal(steps, x.steps) {
				t.Errorf("%s: %v, want %v", d.Status, steps, x.steps)
			}
			for j := 1; j < len(times); j++ {
				// weights spread, two stages begin, the loop turns
				if took := times[j].Sub(times[j-1]); took < x.bake || took > x.bake+time.Minute {
					t.Errorf("step %d after %s", j, took)
				}
			}
			c.lostNone(calls, "v1", "v2")
		})
	}
}

// A pause before each production step has its own id and shows the share so far; CONTINUE leads to
// the next share, and a rollback at any of them to none.
func TestAPauseBeforeEachStep(t *testing.T) {
	for back := range 5 {
		c := newCrossing(t, uint64(90+back))
		c.start(linear(25, 0, pauseAt("ROLLBACK", "PRE_PRODUCTION_TRAFFIC_SHIFT")))
		calls := c.call()
		arn := c.deploy(good)
		seen := map[string]bool{}
		for step := range 4 {
			d, h := c.pauses(arn)
			to := d.TargetServiceRevision
			want := fmt.Sprintf("%d/%d", 100-25*step, 25*step)
			if c.weights(c.production) != want || *to.RequestedProductionTrafficWeight != float64(25*step) ||
				d.LifecycleStage != "PRE_PRODUCTION_TRAFFIC_SHIFT" || seen[*h.HookId] {
				t.Errorf("step %d: %s, %v at %s", step, c.weights(c.production), to.RequestedProductionTrafficWeight,
					d.LifecycleStage)
			}
			seen[*h.HookId] = true
			if step == back {
				must(c.answer(arn, h, "ROLLBACK"))(t)
				break
			}
			must(c.answer(arn, h, "CONTINUE"))(t)
			c.until(arn, "the answer", time.Minute, func(d ecstypes.ServiceDeployment) bool {
				_, still := awaiting(d)
				return !still
			})
		}
		if back == 4 {
			c.ends(arn, "SUCCESSFUL")
			c.lostNone(calls, "v1", "v2")
			continue
		}
		c.isBackAtV1(c.ends(arn, "ROLLBACK_SUCCESSFUL"))
		if r := calls.Report(); r.Failed != 0 || (r.AnsweredBy("v2") > 0) != (back > 0) {
			t.Errorf("back at %d: %v by v2, %+v", back, r.AnsweredBy("v2"), r.First)
		}
	}
}

// The requests follow the weights, and a stop between two steps takes them back.
func TestACanaryGetsItsShare(t *testing.T) {
	c := newCrossing(t, 99)
	c.start(canary(20, 30))
	arn := c.deploy(good)
	c.until(arn, "the canary's share", time.Hour,
		func(ecstypes.ServiceDeployment) bool { return c.weights(c.production) == "80/20" })
	c.pass(10 * time.Second)
	calls := c.call()
	c.pass(10 * time.Minute)
	r := calls.Report()
	if share := float64(r.AnsweredBy("v2")) / float64(r.Requests); share < 0.19 || share > 0.21 {
		t.Errorf("%v of the requests", share)
	}
	c.stop(arn)
	c.isBackAtV1(c.ends(arn, "ROLLBACK_SUCCESSFUL"))
	if r := calls.Report(); r.Failed != 0 {
		t.Errorf("%+v", r.First)
	}
}

// During a deployment both revisions follow the desired count, and stopped tasks are replaced.
func TestBothRevisionsFollowTheDesiredCount(t *testing.T) {
	c := newCrossing(t, 100)
	c.start(canary(50, 30))
	calls := c.call()
	arn := c.deploy(good)
	c.until(arn, "the canary's share", time.Hour,
		func(ecstypes.ServiceDeployment) bool { return c.weights(c.production) == "50/50" })
	c.update(&awsecs.UpdateServiceInput{DesiredCount: aws.Int32(5)})
	d := c.until(arn, "ten tasks", 10*time.Minute, func(d ecstypes.ServiceDeployment) bool {
		return d.TargetServiceRevision.RunningTaskCount == 5 && d.SourceServiceRevisions[0].RunningTaskCount == 5
	})
	if d.TargetServiceRevision.RequestedTaskCount != 5 {
		t.Errorf("%+v", d.TargetServiceRevision)
	}
	c.ends(arn, "SUCCESSFUL")
	c.lostNone(calls, "v1", "v2")
}

// Without a load balancer the new revision runs beside the old one for the bake time.
func TestBlueGreenWithoutALoadBalancer(t *testing.T) {
	c := newCrossing(t, 101)
	conf := blueGreen(3)
	in := c.input("sim/web:v1", &conf)
	in.LoadBalancers = nil
	c.ends(*must(c.api.CreateService(c.ctx, in))(t).Service.CurrentServiceDeployment, "SUCCESSFUL")
	arn := c.deploy(good)
	c.reaches(arn, "BAKE_TIME")
	if s := c.service(); s.RunningCount != 6 {
		t.Errorf("%+v", s.Deployments)
	}
	d := c.ends(arn, "SUCCESSFUL")
	if s := c.service(); !completed(s) || s.RunningCount != 3 ||
		d.TargetServiceRevision.RequestedTestTrafficWeight != nil {
		t.Errorf("%+v", s.Deployments)
	}
}
