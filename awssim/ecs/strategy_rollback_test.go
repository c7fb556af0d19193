package ecs_test

import (
	"strings"
	"testing"
	"time"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/awssim/world/worldtest"
)

func (c *crossing) stop(arn string) {
	c.Helper()
	must(c.api.StopServiceDeployment(c.ctx, &awsecs.StopServiceDeploymentInput{ServiceDeploymentArn: &arn}))(c.T)
}

// isBackAtV1 checks that the first version runs alone, in its group, with all traffic.
func (c *crossing) isBackAtV1(d ecstypes.ServiceDeployment) {
	c.Helper()
	s := c.service()
	if !completed(s) || s.RunningCount != 3 || !strings.HasSuffix(*s.TaskDefinition, "/api:1") {
		c.Errorf("%+v", s.Deployments)
	}
	if p, x := c.weights(c.production), c.weights(c.test); p != "100/0" || x != "100/0" {
		c.Errorf("weights %s, test %s", p, x)
	}
	if d.Rollback == nil || c.liveGroup(d.Rollback.ServiceRevisionArn) != c.group ||
		*d.TargetServiceRevision.RequestedProductionTrafficWeight != 0 {
		c.Errorf("%+v %+v", d.Rollback, d.TargetServiceRevision)
	}
}

// A stop goes back from every stage before CLEAN_UP, in the shift stages, and loses no request. The
// next deployment begins as if there had been none.
func TestAStopGoesBackFromEveryStage(t *testing.T) {
	for i, stage := range []string{"SCALE_UP", "POST_TEST_TRAFFIC_SHIFT", "PRODUCTION_TRAFFIC_SHIFT", "BAKE_TIME"} {
		t.Run(stage, func(t *testing.T) {
			c := newCrossing(t, uint64(i))
			c.start(blueGreen(5))
			calls := c.call()
			arn := c.deploy(good)
			c.reaches(arn, stage)
			c.stop(arn)
			refused(c.api.StopServiceDeployment(c.ctx, &awsecs.StopServiceDeploymentInput{ServiceDeploymentArn: &arn}))(t,
				"ConflictException", "The service deployment cannot be stopped because it is in the ROLLBACK_REQUESTED state.")
			if stage == "BAKE_TIME" {
				c.until(arn, "traffic back", 30*time.Second, func(d ecstypes.ServiceDeployment) bool {
					return d.Status == "ROLLBACK_IN_PROGRESS" && d.LifecycleStage == "PRODUCTION_TRAFFIC_SHIFT" &&
						c.weights(c.production) == "100/0"
				})
				c.reaches(arn, "TEST_TRAFFIC_SHIFT")
			}
			d := c.ends(arn, "ROLLBACK_SUCCESSFUL")
			if d.LifecycleStage != "CLEAN_UP" || *d.StatusReason != "Service deployment rolled back because of a user "+
				"request." {
				t.Errorf("%s %s", d.LifecycleStage, *d.StatusReason)
			}
			c.isBackAtV1(d)
			d = c.ends(c.deploy(third), "SUCCESSFUL")
			if g := c.liveGroup(d.TargetServiceRevision.Arn); g != c.other {
				t.Errorf("live is %s", g)
			}
			if stage == "BAKE_TIME" {
				c.lostNone(calls, "v1", "v2", "v3")
			} else if r := calls.Report(); r.Failed != 0 {
				t.Errorf("%+v", r.First)
			}
		})
	}
}

// While the former tasks are removed, there is no way back.
func TestNoStopDuringCleanUp(t *testing.T) {
	c := newCrossing(t, 3)
	c.start(blueGreen(0))
	arn := c.deploy(good)
	c.reaches(arn, "CLEAN_UP")
	refused(c.api.StopServiceDeployment(c.ctx, &awsecs.StopServiceDeploymentInput{ServiceDeploymentArn: &arn}))(t,
		"ConflictException", "The service deployment cannot be stopped because it is in the IN_PROGRESS state.")
	c.ends(arn, "SUCCESSFUL")
}

// setAlarm changes the state of alarm 5xx.
func (c *crossing) setAlarm(state string) {
	_ = c.w.Do(worldtest.Key, func(tx *world.Tx) error {
		a, ok := tx.Alarms.Get("5xx")
		if !ok {
			a = &world.Alarm{Name: "5xx", State: "OK", Period: time.Minute, EvaluationPeriods: 3}
			tx.AddAlarm(a)
		}
		tx.SetAlarm(a, state, "", "")
		return nil
	})
}

// An alarm goes back until the end of the bake. One that was raised before is ignored. Without
// rollback the deployment stops as it is; the next one first leaves one revision.
func TestAlarmsEndABlueGreenDeployment(t *testing.T) {
	for _, back := range []bool{true, false} {
		c := newCrossing(t, 4)
		c.setAlarm("OK")
		conf := blueGreen(5)
		conf.Alarms = &ecstypes.DeploymentAlarms{AlarmNames: []string{"5xx"}, Enable: true, Rollback: back}
		c.start(conf)
		calls := c.call()
		arn := c.deploy(good)
		c.reaches(arn, "BAKE_TIME")
		c.pass(time.Minute)
		c.setAlarm("ALARM")
		if back {
			d := c.ends(arn, "ROLLBACK_SUCCESSFUL")
			if d.Alarms.Status != "TRIGGERED" || len(d.Alarms.TriggeredAlarmNames) != 1 {
				t.Errorf("%+v", d.Alarms)
			}
			c.isBackAtV1(d)
			c.ends(c.deploy(third), "SUCCESSFUL")
			c.lostNone(calls, "v1", "v2", "v3")
			continue
		}
		c.ends(arn, "STOPPED")
		c.pass(10 * time.Minute)
		if s := c.service(); s.RunningCount != 6 || s.Deployments[0].RolloutState != "FAILED" ||
			c.weights(c.production) != "0/100" {
			t.Errorf("%s: %+v", c.weights(c.production), s.Deployments)
		}
		c.setAlarm("OK")
		arn = c.deploy(third)
		c.reaches(arn, "RECONCILE_SERVICE")
		c.until(arn, "traffic back", time.Minute,
			func(ecstypes.ServiceDeployment) bool { return c.weights(c.production) == "100/0" })
		c.ends(arn, "SUCCESSFUL")
		c.lostNone(calls, "v1", "v2", "v3")
	}
}

// A second update ends the deployment that runs: traffic returns to the former revision, the
// interrupted one is removed, and the second one uses its target group.
func TestASecondUpdateEndsTheFirst(t *testing.T) {
	for i, stage := range []string{"PRE_SCALE_UP", "SCALE_UP", "BAKE_TIME"} {
		t.Run(stage, func(t *testing.T) {
			c := newCrossing(t, uint64(20+i))
			c.start(blueGreen(5))
			calls := c.call()
			first := c.deploy(good)
			c.reaches(first, stage)
			second := c.deploy(third)
			if d := c.see(first); d.Status != "STOP_REQUESTED" {
				t.Error(d.Status)
			}
			if stage != "PRE_SCALE_UP" {
				c.reaches(second, "RECONCILE_SERVICE")
				c.reaches(second, "PRE_SCALE_UP")
				if s := c.service(); s.RunningCount != 3 || c.weights(c.production) != "100/0" {
					t.Errorf("%s %+v", c.weights(c.production), s.Deployments)
				}
			}
			d := c.ends(second, "SUCCESSFUL")
			c.ends(first, "STOPPED")
			if g := c.liveGroup(d.TargetServiceRevision.Arn); g != c.other || c.service().RunningCount != 3 {
				t.Errorf("live is %s", g)
			}
			if r := calls.Report(); r.Failed != 0 || r.AnsweredBy("v3") == 0 {
				t.Errorf("%+v", r.First)
			}
		})
	}
}

// The first deployment of a service has nothing to go back to.
func TestAFirstBlueGreenDeploymentHasNothingToGoBackTo(t *testing.T) {
	c := newCrossing(t, 5)
	conf := blueGreen(0)
	out := must(c.api.CreateService(c.ctx, c.input("sim/web:v1-never-healthy", &conf)))(t)
	arn := *out.Service.CurrentServiceDeployment
	c.reaches(arn, "SCALE_UP")
	c.stop(arn)
	c.ends(arn, "ROLLBACK_FAILED")
	if s := c.service(); s.Deployments[0].RolloutState != "FAILED" {
		t.Errorf("%+v", s.Deployments)
	}
	d := c.ends(c.deploy(third), "SUCCESSFUL")
	if s := c.service(); !completed(s) || c.liveGroup(d.TargetServiceRevision.Arn) != c.group {
		t.Errorf("%+v", s.Deployments)
	}
}

// A service that rolled gets a strategy with its next deployment.
func TestFromRollingToBlueGreen(t *testing.T) {
	c := newCrossing(t, 6)
	c.create("sim/web:v1-latency-50ms-term-2s", 3, nil)
	calls := c.call()
	conf := blueGreen(1)
	arn := c.update(&awsecs.UpdateServiceInput{TaskDefinition: c.register(good), DeploymentConfiguration: &conf,
		LoadBalancers: c.balancers()})
	d := c.ends(arn, "SUCCESSFUL")
	if g := c.liveGroup(d.TargetServiceRevision.Arn); g != c.other {
		t.Errorf("live is %s", g)
	}
	c.lostNone(calls, "v1", "v2")
}

// ECS overwrites weights that someone else wrote; without its rule, a deployment goes back.
func TestADeploymentWithoutItsRuleGoesBack(t *testing.T) {
	c := newCrossing(t, 7)
	c.start(blueGreen(1))
	arn := c.deploy(good)
	c.reaches(arn, "SCALE_UP")
	_ = c.w.Do(worldtest.Key, func(tx *world.Tx) error {
		r, _ := tx.Rules.Get(c.test)
		tx.RemoveListener(r.Listener)
		return nil
	})
	if d := c.ends(arn, "ROLLBACK_SUCCESSFUL"); !strings.Contains(*d.StatusReason, "listener rule was not found") {
		t.Error(*d.StatusReason)
	}
}
