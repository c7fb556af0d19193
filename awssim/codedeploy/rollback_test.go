package codedeploy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscd "github.com/aws/aws-sdk-go-v2/service/codedeploy"
	cdtypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice/awssim/world"
)

const onEverything = "rollback: [DEPLOYMENT_FAILURE, DEPLOYMENT_STOP_ON_ALARM, DEPLOYMENT_STOP_ON_REQUEST]"

// rolledBack checks that a deployment ended and another one brought everything
// back to the original task set.
func (b *bench) rolledBack(id, original string) *cdtypes.DeploymentInfo {
	b.Helper()
	d := b.ends(id)
	if d.RollbackInfo == nil || d.RollbackInfo.RollbackDeploymentId == nil {
		b.Fatalf("%s is not rolled back: %s %+v", id, d.Status, d.ErrorInformation)
	}
	back := b.ends(*d.RollbackInfo.RollbackDeploymentId)
	if back.Creator != cdtypes.DeploymentCreatorCodeDeployRollback ||
		back.Status != cdtypes.DeploymentStatusSucceeded || *back.RollbackInfo.RollbackTriggeringDeploymentId != id {
		b.Errorf("%+v", back)
	}
	b.until("one task set", func() bool { return len(b.service().TaskSets) == 1 })
	s := b.service()
	if *s.TaskSets[0].Id != original || *s.TaskSets[0].Status != "PRIMARY" || s.RunningCount != 3 ||
		b.weights(80)["web-b"] != 0 || b.weights(80)["web-a"] != 100 {
		b.Errorf("%+v, %v", s.TaskSets, b.weights(80))
	}
	if m := *b.get(id).RollbackInfo.RollbackMessage; !strings.Contains(m, "was rolled back by "+*back.DeploymentId) {
		b.Error(m)
	}
	return d
}

func TestAFailedHookFailsTheDeployment(t *testing.T) {
	for _, event := range []string{"AfterInstall", "AfterAllowTestTraffic", "BeforeAllowTraffic", "AfterAllowTraffic"} {
		b := newBench(t, 1, onEverything+"\ntestListener: \"edge:8080\"",
			"functions: [{name: check, result: fail, after: 5s}]")
		original := *b.service().TaskSets[0].Id
		id := b.deploy("sim/web:v2", "", event, "arn:aws:lambda:us-east-1:123456789012:function:check")
		d := b.rolledBack(id, original)
		if d.Status != cdtypes.DeploymentStatusFailed ||
			d.ErrorInformation.Code != cdtypes.ErrorCodeHookExecutionFailure ||
			b.event(id, event) != cdtypes.LifecycleEventStatusFailed {
			t.Errorf("%s: %+v", event, d)
		}
		if test := b.weights(8080); test["web-b"] > 0 {
			t.Errorf("test traffic is left: %v", test)
		}
	}
}

func TestBeforeInstallNothingIsRolledBack(t *testing.T) {
	b := newBench(t, 1, onEverything, "functions: [{name: check, result: fail}]")
	id := b.deploy("sim/web:v2", "", "BeforeInstall", "check")
	d := b.ends(id)
	if d.Status != cdtypes.DeploymentStatusFailed || d.RollbackInfo.RollbackDeploymentId != nil ||
		len(b.service().TaskSets) != 1 {
		t.Errorf("%+v", d)
	}
	if e := b.target(id).LifecycleEvents[0]; e.Diagnostics.ErrorCode != cdtypes.LifecycleErrorCodeScriptFailed ||
		*e.Diagnostics.ScriptName != "check" {
		t.Errorf("%+v", e)
	}
}

func TestAFunctionThatIsMissingOrHangs(t *testing.T) {
	b := newBench(t, 1, onEverything, "functions: [{name: sleep, result: hang}]")
	original := *b.service().TaskSets[0].Id
	d := b.rolledBack(b.deploy("sim/web:v2", "", "AfterInstall", "nobody"), original)
	if !strings.Contains(*d.ErrorInformation.Message, "The Lambda function nobody was not found.") {
		t.Error(*d.ErrorInformation.Message)
	}
	id := b.deploy("sim/web:v2", "", "BeforeAllowTraffic", "sleep")
	begun := b.clock.now
	d = b.rolledBack(id, original)
	if took := d.CompleteTime.Sub(begun); took < time.Hour || took > time.Hour+5*time.Minute ||
		!strings.Contains(*d.ErrorInformation.Message, "within 3600 seconds") {
		t.Errorf("%v: %s", took, *d.ErrorInformation.Message)
	}
}

func TestTheFunctionItselfReports(t *testing.T) {
	b := newBench(t, 1, "", "functions: [{name: ask, result: hang}]")
	id := b.deploy("sim/web:v2", "", "AfterInstall", "ask", "BeforeAllowTraffic", "ask")
	for _, event := range []string{"AfterInstall", "BeforeAllowTraffic"} {
		b.until(event, func() bool { return b.event(id, event) == cdtypes.LifecycleEventStatusInProgress })
		b.pass(time.Minute)
		var execution string
		b.do(func(tx *world.Tx) {
			f, _ := tx.Functions.Get("ask")
			execution = f.Calls[len(f.Calls)-1].Execution
		})
		in := &awscd.PutLifecycleEventHookExecutionStatusInput{DeploymentId: &id,
			LifecycleEventHookExecutionId: &execution, Status: "Pending"}
		_, err := b.PutLifecycleEventHookExecutionStatus(b.ctx, in)
		b.refused(err, "InvalidLifecycleEventHookExecutionStatusException", "")
		in.Status = cdtypes.LifecycleEventStatusSucceeded
		_, err = b.PutLifecycleEventHookExecutionStatus(b.ctx, in)
		b.ok(err)
		_, err = b.PutLifecycleEventHookExecutionStatus(b.ctx, in)
		b.refused(err, "LifecycleEventAlreadyCompletedException", event)
	}
	_, err := b.PutLifecycleEventHookExecutionStatus(b.ctx,
		&awscd.PutLifecycleEventHookExecutionStatusInput{DeploymentId: &id,
			LifecycleEventHookExecutionId: aws.String("x"), Status: "Succeeded"})
	b.refused(err, "InvalidLifecycleEventHookExecutionIdException", "")
	if d := b.ends(id); d.Status != cdtypes.DeploymentStatusSucceeded {
		t.Errorf("%+v", d)
	}
}

func TestStopWithRollback(t *testing.T) {
	for _, when := range []string{"half of the traffic", "all of the traffic"} {
		b := newBench(t, 2, "terminate: 10m", "")
		original := *b.service().TaskSets[0].Id
		id := b.deploy("sim/web:v2", "half")
		b.until(when, func() bool {
			return b.weights(80)["web-b"] == 50 && when[0] == 'h' || b.get(id).InstanceTerminationWaitTimeStarted
		})
		_, err := b.StopDeployment(b.ctx, &awscd.StopDeploymentInput{DeploymentId: &id,
			AutoRollbackEnabled: aws.Bool(true)})
		b.ok(err)
		if d := b.rolledBack(id, original); d.Status != cdtypes.DeploymentStatusStopped ||
			d.ErrorInformation.Code != cdtypes.ErrorCodeManualStop {
			t.Errorf("%+v", d)
		}
	}
}

func TestStopFollowsTheGroupByDefault(t *testing.T) {
	b := newBench(t, 2, "rollback: [DEPLOYMENT_STOP_ON_REQUEST]", "")
	original := *b.service().TaskSets[0].Id
	id := b.deploy("sim/web:v2", "half")
	b.until("half", func() bool { return b.weights(80)["web-b"] == 50 })
	_, err := b.StopDeployment(b.ctx, &awscd.StopDeploymentInput{DeploymentId: &id})
	b.ok(err)
	b.rolledBack(id, original)
}

func TestAnAlarmStopsIt(t *testing.T) {
	raise := func(b *bench, state string) {
		b.do(func(tx *world.Tx) {
			a, ok := tx.Alarms.Get("errors")
			if !ok {
				a = &world.Alarm{Name: "errors"}
				tx.AddAlarm(a)
			}
			tx.SetAlarm(a, state, "by the test", "")
		})
	}
	b := newBench(t, 3, onEverything+"\nalarms: [errors]", "")
	original := *b.service().TaskSets[0].Id
	raise(b, world.AlarmOK)
	id := b.deploy("sim/web:v2", "half")
	b.until("half", func() bool { return b.weights(80)["web-b"] == 50 })
	raise(b, world.AlarmRaised)
	d := b.rolledBack(id, original)
	if d.Status != cdtypes.DeploymentStatusStopped || d.ErrorInformation.Code != cdtypes.ErrorCodeAlarmActive ||
		!strings.HasSuffix(*d.ErrorInformation.Message, "Activated alarms: errors") {
		t.Errorf("%+v", d)
	}
	d = b.ends(b.deploy("sim/web:v2", ""))
	if d.ErrorInformation.Code != cdtypes.ErrorCodeAlarmActive || d.RollbackInfo.RollbackDeploymentId != nil ||
		len(b.service().TaskSets) != 1 {
		t.Errorf("the alarm was raised before: %+v", d)
	}
	in := input(appspec(b.register("sim/web:v2")))
	in.OverrideAlarmConfiguration = &cdtypes.AlarmConfiguration{Enabled: false}
	out, err := b.CreateDeployment(b.ctx, in)
	b.ok(err)
	if d := b.ends(*out.DeploymentId); d.Status != cdtypes.DeploymentStatusSucceeded {
		t.Errorf("alarms are overridden: %+v", d)
	}
}

func TestATaskSetThatNeverGetsHealthyTimesOut(t *testing.T) {
	b := newBench(t, 4, onEverything, "")
	original := *b.service().TaskSets[0].Id
	d := b.rolledBack(b.deploy("sim/web:v2-noboot", ""), original)
	if d.ErrorInformation.Code != cdtypes.ErrorCodeTimeout || !strings.Contains(*d.ErrorInformation.Message,
		"timed out while waiting for the replacement task set") {
		t.Errorf("%+v", d.ErrorInformation)
	}
}

func TestWhatIsWrongTurnsOutInTheDeployment(t *testing.T) {
	b := newBench(t, 5, onEverything, "")
	end := func(content string) *cdtypes.ErrorInformation {
		out, err := b.CreateDeployment(b.ctx, input(content))
		b.ok(err)
		d := b.ends(*out.DeploymentId)
		if d.Status != cdtypes.DeploymentStatusFailed {
			t.Errorf("%s", d.Status)
		}
		return d.ErrorInformation
	}
	if e := end(appspec(
		"arn:aws:ecs:us-east-1:123456789012:task-definition/none:1")); e.Code != cdtypes.ErrorCodeEcsUpdateError ||
		*e.Message != "The ECS service cannot be updated due to the following error: TaskDefinition not found." {
		t.Errorf("%+v", e)
	}
	bad := strings.Replace(appspec(b.register("sim/web:v2")), "ContainerPort: 80", "ContainerPort: 81", 1)
	if e := end(bad); e.Code != cdtypes.ErrorCodeEcsUpdateError || !strings.Contains(*e.Message, "container port 81") {
		t.Errorf("%+v", e)
	}
	id := b.deploy("sim/web:v2", "half")
	b.until("half", func() bool { return b.weights(80)["web-b"] == 50 })
	_, err := b.DeleteDeploymentGroup(b.ctx, &awscd.DeleteDeploymentGroupInput{ApplicationName: aws.String("shop"),
		DeploymentGroupName: aws.String("web")})
	b.ok(err)
	if d := b.ends(id); d.ErrorInformation.Code != cdtypes.ErrorCodeDeploymentGroupMissing ||
		d.RollbackInfo.RollbackDeploymentId != nil {
		t.Errorf("%+v", d)
	}
}

func TestAServiceThatIsDeletedDuringADeployment(t *testing.T) {
	b := newBench(t, 6, onEverything, "")
	id := b.deploy("sim/web:v2", "half")
	b.until("half", func() bool { return b.weights(80)["web-b"] == 50 })
	_, err := b.ecs.DeleteService(b.ctx, &awsecs.DeleteServiceInput{Cluster: aws.String("prod"),
		Service: aws.String("web"), Force: aws.Bool(true)})
	b.ok(err)
	if d := b.ends(id); d.ErrorInformation.Code != cdtypes.ErrorCodeInvalidEcsService {
		t.Errorf("%+v", d)
	}
}

// AWS: a deployment may fail if its service is scaled out for more than five minutes.
func TestAServiceThatIsScaledOutFailsTheDeployment(t *testing.T) {
	scale := func(b *bench, n int32) {
		_, err := b.ecs.UpdateService(b.ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("prod"),
			Service: aws.String("web"), DesiredCount: &n})
		b.ok(err)
	}
	b := newBench(t, 2, "", "")
	id := b.deploy("sim/web:v2?start-delay=7m", "half")
	b.pass(time.Minute)
	scale(b, 5)
	b.pass(4*time.Minute + 50*time.Second)
	if d := b.get(id); d.Status != cdtypes.DeploymentStatusInProgress {
		t.Errorf("scaled out for less than five minutes: %s", d.Status)
	}
	b.pass(20 * time.Second)
	if d := b.get(id); d.Status != cdtypes.DeploymentStatusFailed || d.ErrorInformation.Code != "ECS_UPDATE_ERROR" {
		t.Errorf("scaled out for five minutes: %s %+v", d.Status, d.ErrorInformation)
	}
	b = newBench(t, 2, "", "")
	id = b.deploy("sim/web:v2?start-delay=7m", "half")
	b.pass(time.Minute)
	scale(b, 5)
	b.pass(4 * time.Minute)
	scale(b, 3)
	if d := b.ends(id); d.Status != cdtypes.DeploymentStatusSucceeded {
		t.Errorf("scaled out and in again: %s %+v", d.Status, d.ErrorInformation)
	}
}
