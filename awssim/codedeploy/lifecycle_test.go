package codedeploy_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscd "github.com/aws/aws-sdk-go-v2/service/codedeploy"
	cdtypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"
)

func TestADeploymentReplacesTheTaskSet(t *testing.T) {
	b := newBench(t, 1, "", "")
	blue := b.service().TaskSets[0]
	id := b.deploy("sim/web:v2", "")
	if d := b.get(id); d.Status != cdtypes.DeploymentStatusCreated || d.Creator != cdtypes.DeploymentCreatorUser ||
		*d.DeploymentConfigName != "CodeDeployDefault.ECSAllAtOnce" {
		t.Errorf("%+v", d)
	}
	b.until("the replacement", func() bool { return len(b.service().TaskSets) == 2 })
	green := b.service().TaskSets[1]
	if *green.StartedBy != "CODE_DEPLOY" || *green.ExternalId != id || *green.Status != "ACTIVE" ||
		green.Scale.Value != 100 {
		t.Errorf("%+v", green)
	}
	if w := b.weights(80); w["web-a"] != 100 || w["web-b"] != 0 {
		t.Errorf("while the replacement starts: %v", w)
	}
	x := b.target(id)
	if x.Status != cdtypes.TargetStatusInProgress || len(x.TaskSetsInfo) != 2 ||
		x.TaskSetsInfo[0].TaskSetLabel != cdtypes.TargetLabelBlue ||
		*x.TaskSetsInfo[0].Identifer != *blue.Id || x.TaskSetsInfo[0].TrafficWeight != 100 ||
		*x.TaskSetsInfo[1].TargetGroup.Name != "web-b" {
		t.Errorf("%+v", x)
	}
	d := b.ends(id)
	if d.Status != cdtypes.DeploymentStatusSucceeded || d.ErrorInformation != nil ||
		d.DeploymentOverview.Succeeded != 1 || !d.InstanceTerminationWaitTimeStarted {
		t.Errorf("%+v", d)
	}
	names := ""
	for _, e := range b.target(id).LifecycleEvents {
		names += *e.LifecycleEventName + " " + string(e.Status) + "; "
	}
	if want := "BeforeInstall Succeeded; Install Succeeded; AfterInstall Succeeded; BeforeAllowTraffic Succeeded; " +
		"AllowTraffic Succeeded; AfterAllowTraffic Succeeded; "; names != want {
		t.Error(names)
	}
	if w := b.weights(80); w["web-a"] != 0 || w["web-b"] != 100 {
		t.Errorf("at the end: %v", w)
	}
	b.until("the original is gone", func() bool { return len(b.service().TaskSets) == 1 })
	if s := b.service(); *s.TaskSets[0].Id != *green.Id || *s.TaskSets[0].Status != "PRIMARY" || s.RunningCount != 3 ||
		*s.TaskDefinition != *green.TaskDefinition {
		t.Errorf("%+v", s)
	}
	if d := b.ends(b.deploy("sim/web:v3", "")); d.Status != cdtypes.DeploymentStatusSucceeded ||
		d.PreviousRevision == nil || b.weights(80)["web-a"] != 100 {
		t.Errorf("back to the first group: %+v", d)
	}
}

func TestTrafficIsShiftedAsConfigured(t *testing.T) {
	for config, want := range map[string][]int32{"half": {0, 50, 100}, "thirds": {0, 34, 68, 100},
		"CodeDeployDefault.ECSCanary10Percent5Minutes":      {0, 10, 100},
		"CodeDeployDefault.ECSLinear10PercentEvery1Minutes": {0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100}} {
		b := newBench(t, 2, "", "")
		id := b.deploy("sim/web:v2", config)
		var seen []int32
		b.until("the end", func() bool {
			w := b.weights(80)["web-b"]
			if b.service().TaskSets != nil && len(b.service().TaskSets) == 2 &&
				(len(seen) == 0 || seen[len(seen)-1] != w) {
				seen = append(seen, w)
				if x := b.target(id); x.TaskSetsInfo[1].TrafficWeight != float64(w) ||
					x.TaskSetsInfo[0].TrafficWeight != float64(100-w) {
					t.Errorf("%s: %+v at %d", config, x.TaskSetsInfo, w)
				}
			}
			return b.get(id).Status == cdtypes.DeploymentStatusSucceeded
		})
		if len(seen) != len(want) {
			t.Errorf("%s: %v", config, seen)
		}
	}
}

func TestTestTrafficComesFirst(t *testing.T) {
	b := newBench(t, 3, `testListener: "edge:8080"`, "functions: [{name: look, after: 30s}]")
	id := b.deploy("sim/web:v2", "", "AfterAllowTestTraffic", "look")
	b.until("the test", func() bool {
		return b.event(id,
			"AfterAllowTestTraffic") == cdtypes.LifecycleEventStatusInProgress
	})
	if test, prod := b.weights(8080), b.weights(80); test["web-b"] != 100 || prod["web-b"] != 0 {
		t.Errorf("test %v, production %v", test, prod)
	}
	if d := b.ends(id); d.Status != cdtypes.DeploymentStatusSucceeded || b.weights(80)["web-b"] != 100 ||
		b.weights(8080)["web-b"] != 100 {
		t.Errorf("%+v", d)
	}
}

func TestReadyWaitsForAUser(t *testing.T) {
	b := newBench(t, 4, "ready: 5m\nterminate: 10m", "")
	id := b.deploy("sim/web:v2", "")
	_, err := b.ContinueDeployment(b.ctx, &awscd.ContinueDeploymentInput{DeploymentId: &id})
	b.refused(err, "DeploymentIsNotInReadyStateException", "")
	b.until("ready", func() bool { return b.get(id).Status == cdtypes.DeploymentStatusReady })
	if x := b.target(id); x.Status != cdtypes.TargetStatusReady || b.weights(80)["web-b"] != 0 {
		t.Errorf("%+v", x)
	}
	_, err = b.ContinueDeployment(b.ctx, &awscd.ContinueDeploymentInput{DeploymentId: &id, DeploymentWaitType: "SLEEP"})
	b.refused(err, "InvalidDeploymentWaitTypeException", "")
	_, err = b.ContinueDeployment(b.ctx, &awscd.ContinueDeploymentInput{DeploymentId: &id,
		DeploymentWaitType: cdtypes.DeploymentWaitTypeReadyWait})
	b.ok(err)
	b.until("the wait before termination", func() bool { return b.get(id).InstanceTerminationWaitTimeStarted })
	b.pass(2 * time.Minute)
	if d := b.get(id); d.Status != cdtypes.DeploymentStatusInProgress || len(b.service().TaskSets) != 2 {
		t.Errorf("%+v", d)
	}
	_, err = b.ContinueDeployment(b.ctx, &awscd.ContinueDeploymentInput{DeploymentId: &id,
		DeploymentWaitType: cdtypes.DeploymentWaitTypeTerminationWait})
	b.ok(err)
	b.pass(10 * time.Second)
	if d := b.get(id); d.Status != cdtypes.DeploymentStatusSucceeded {
		t.Errorf("%+v", d)
	}
	id = b.deploy("sim/web:v3", "")
	if d := b.ends(id); d.Status != cdtypes.DeploymentStatusStopped ||
		d.ErrorInformation.Code != cdtypes.ErrorCodeTimeout || d.RollbackInfo != nil {
		t.Errorf("nobody continued it: %+v", d)
	}
}

func TestLeftoversOfAStoppedDeploymentAreRemovedByTheNext(t *testing.T) {
	b := newBench(t, 5, "", "")
	id := b.deploy("sim/web:v2", "half")
	b.until("half", func() bool { return b.weights(80)["web-b"] == 50 })
	out, err := b.StopDeployment(b.ctx, &awscd.StopDeploymentInput{DeploymentId: &id,
		AutoRollbackEnabled: aws.Bool(false)})
	b.ok(err)
	if out.Status != cdtypes.StopStatusPending {
		t.Error(out.Status)
	}
	if d := b.ends(id); d.Status != cdtypes.DeploymentStatusStopped ||
		d.ErrorInformation.Code != cdtypes.ErrorCodeManualStop || d.RollbackInfo != nil {
		t.Errorf("%+v", d)
	}
	b.pass(5 * time.Minute)
	if w := b.weights(80); w["web-b"] != 50 || len(b.service().TaskSets) != 2 {
		t.Errorf("stopped in between: %v, %d task sets", w, len(b.service().TaskSets))
	}
	_, err = b.StopDeployment(b.ctx, &awscd.StopDeploymentInput{DeploymentId: &id})
	b.refused(err, "DeploymentAlreadyCompletedException", id)
	next := b.deploy("sim/web:v3", "")
	if d := b.ends(next); d.Status != cdtypes.DeploymentStatusSucceeded {
		t.Errorf("%+v", d.ErrorInformation)
	}
	b.until("one task set", func() bool { return len(b.service().TaskSets) == 1 })
	if s := b.service(); *s.TaskSets[0].ExternalId != next {
		t.Errorf("%+v", s.TaskSets)
	}
}

func TestTheOriginalMayBeKept(t *testing.T) {
	b := newBench(t, 6, "keepAlive: true", "")
	if d := b.ends(b.deploy("sim/web:v2", "")); d.Status != cdtypes.DeploymentStatusSucceeded {
		t.Errorf("%+v", d)
	}
	b.pass(5 * time.Minute)
	if s := b.service(); len(s.TaskSets) != 2 || s.RunningCount != 6 {
		t.Errorf("%+v", s.TaskSets)
	}
	if d := b.ends(b.deploy("sim/web:v3", "")); d.Status != cdtypes.DeploymentStatusSucceeded {
		t.Errorf("%+v", d.ErrorInformation)
	}
}
