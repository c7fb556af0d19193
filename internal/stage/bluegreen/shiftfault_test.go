package bluegreen_test

import (
	"context"
	"strings"
	"testing"
	"time"

	awscw "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	awscd "github.com/aws/aws-sdk-go-v2/service/codedeploy"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

const (
	v1Stands = "PRIMARY sim/web:v1 3 running"
	v2Stands = "PRIMARY sim/web:v2 3 running"
)

// expectLossless fails the test unless the deployment ended so, with no request lost.
func expectLossless(b *stagetest.Bench, end engine.RunResult, outcome sluice.Outcome, cause, stands string) {
	b.Helper()
	stagetest.Must(b, b.Clock.Sleep(context.Background(), time.Minute))
	if end.Outcome != outcome || !strings.Contains(end.Cause, cause) || activeSets(b, "web") != stands {
		b.Errorf("%s: %s; %s\nwant %s: …%s…; %s\n%s", end.Outcome, end.Cause, activeSets(b, "web"), outcome, cause,
			stands,
			b.EventLog())
	}
	b.ExpectNoneLost()
}

// actAtShare does something to AWS once the replacement has so much of the traffic.
func actAtShare(b *stagetest.Bench, percent float64, do func() error) {
	b.Clock.Go(func() {
		b.Until("traffic is there", func() bool { return greenShare(b) >= percent })
		stagetest.Must(b, do())
	})
}

// A hook that says no, does not exist, or says nothing: what served before serves
// again, whether CodeDeploy rolls back by itself or not.
func TestAHookThatDoesNotSayYes(t *testing.T) {
	for hook, words := range map[string]string{"AfterInstall: refuse": "The Lambda function refuse reported Failed",
		"AfterAllowTraffic: refuse": "The Lambda function refuse reported Failed",
		"BeforeInstall: nobody":     "The Lambda function nobody was not found",
		"BeforeAllowTraffic: hang":  "the function of hook BeforeAllowTraffic has not reported for 10m0s"} {
		for _, group := range []string{"", backOnFailure} {
			t.Run(hook+" "+group, func(t *testing.T) {
				onGroup(t, group, func(b *stagetest.Bench) {
					expectLossless(b, b.Deploy(codeDeployFiles(b, "sim/web:v2", hooks(hook))), sluice.RolledBack, words,
						v1Stands)
				})
			})
		}
	}
}

// onGroup runs f in a world with these lines in the deployment group.
func onGroup(t testing.TB, group string, f func(*stagetest.Bench)) {
	t.Helper()
	onShifts(t, shiftOptions{seed: 3, group: group}, f)
}

// An alarm that fires stops the deployment; what CodeDeploy does not roll back, we do.
func TestAnAlarmFiresDuringTheShift(t *testing.T) {
	for _, group := range []string{"alarms: [slow]", "alarms: [slow]\nrollback: [DEPLOYMENT_STOP_ON_ALARM]"} {
		onGroup(t, group, func(b *stagetest.Bench) {
			setAlarm(b, cwtypes.StateValueOk)
			actAtShare(b, 50, func() error { setAlarm(b, cwtypes.StateValueAlarm); return nil })
			expectLossless(b, b.Deploy(codeDeployFiles(b, "sim/web:v2", config("half"))), sluice.RolledBack,
				"Activated alarms: slow", v1Stands)
		})
	}
}

// setAlarm puts the alarm that the deployment group watches into a state.
func setAlarm(b *stagetest.Bench, state cwtypes.StateValue) {
	b.Helper()
	ctx, api := context.Background(), awscw.NewFromConfig(b.Sim.Config())
	if state == cwtypes.StateValueOk {
		stagetest.Got(api.PutMetricAlarm(ctx, &awscw.PutMetricAlarmInput{AlarmName: ptr("slow"), MetricName: ptr("m"),
			Namespace: ptr("n"), Statistic: cwtypes.StatisticAverage,
			ComparisonOperator: cwtypes.ComparisonOperatorGreaterThanThreshold, Threshold: ptr(1.0),
			Period: ptr(int32(60)), EvaluationPeriods: ptr(int32(1)), TreatMissingData: ptr("ignore")}))(b)
	}
	stagetest.Got(api.SetAlarmState(ctx, &awscw.SetAlarmStateInput{AlarmName: ptr("slow"), StateValue: state,
		StateReason: ptr("t")}))(b)
}

// The group is deleted while it deploys: that is told, and that nothing can roll it
// back. Half of the traffic is at the new version, and both serve.
func TestTheGroupIsDeletedDuringTheShift(t *testing.T) {
	onGroup(t, backOnFailure, func(b *stagetest.Bench) {
		actAtShare(b, 50, func() error { return deleteGroup(b) })
		end := b.Deploy(codeDeployFiles(b, "sim/web:v2", config("half")))
		if end.Outcome != sluice.Failed || !strings.Contains(end.Cause, "deployment group") ||
			!strings.Contains(activeSets(b, "web"), "ACTIVE sim/web:v2") {
			b.Errorf("%s: %s; %s\n%s", end.Outcome, end.Cause, activeSets(b, "web"), b.EventLog())
		}
		b.ExpectNoneLost()
	})
}

func deleteGroup(b *stagetest.Bench) error {
	_, err := codeDeployClient(b).DeleteDeploymentGroup(context.Background(),
		&awscd.DeleteDeploymentGroupInput{ApplicationName: ptr("shop"), DeploymentGroupName: ptr("web")})
	return err
}

// Between the plan and the deployment: nothing is made, and what to do is told.
func TestTheGroupIsDeletedBeforeTheShift(t *testing.T) {
	onGroup(t, "", func(b *stagetest.Bench) {
		id := b.Start(codeDeployFiles(b, "sim/web:v2", ""))
		stagetest.Must(b, deleteGroup(b))
		end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
		const config = " --deployment-config-name CodeDeployDefault.ECSAllAtOnce"
		if end.Outcome == sluice.Succeeded || !strings.Contains(end.Cause, "DeploymentGroupDoesNotExist") ||
			!strings.Contains(end.Next, "aws deploy create-deployment-group --application-name shop") ||
			!strings.Contains(end.Next, config) ||
			activeSets(b, "web") != v1Stands {
			b.Errorf("%s: %s; next: %s; %s\n%s", end.Outcome, end.Cause, end.Next, activeSets(b, "web"), b.EventLog())
		}
		b.ExpectNoneLost()
	})
}

// The service is deleted while CodeDeploy deploys it.
func TestTheServiceIsDeletedDuringTheShift(t *testing.T) {
	onGroup(t, backOnFailure, func(b *stagetest.Bench) {
		actAtShare(b, 50, func() error {
			_, err := b.ECS.DeleteService(context.Background(), &awsecs.DeleteServiceInput{Cluster: ptr("prod"),
				Service: ptr("web"), Force: ptr(true)})
			return err
		})
		end := b.Deploy(codeDeployFiles(b, "sim/web:v2", config("half")))
		if end.Outcome != sluice.Gone || !strings.Contains(end.Cause, "does not exist or is not ACTIVE") {
			b.Errorf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
		}
	})
}

// Nobody continues a deployment that waits for a person: CodeDeploy stops it, and
// what served before serves. One that is continued goes on, however long after the
// progress deadline.
func TestReadyAndNobodyContinues(t *testing.T) {
	onGroup(t, "ready: 20m", func(b *stagetest.Bench) {
		expectLossless(b, b.Deploy(codeDeployFiles(b, "sim/web:v2", "")), sluice.RolledBack,
			"it was not continued within 20m0s",
			v1Stands)
	})
	onGroup(t, "ready: 20m", func(b *stagetest.Bench) {
		b.Clock.Go(func() {
			b.Until("it is ready", func() bool { return newestShift(b).Status == "Ready" })
			stagetest.Must(b, b.Clock.Sleep(context.Background(), 15*time.Minute))
			stagetest.Got(codeDeployClient(b).ContinueDeployment(context.Background(),
				&awscd.ContinueDeploymentInput{DeploymentId: newestShift(b).DeploymentId}))(b)
		})
		expectLossless(b, b.Deploy(codeDeployFiles(b, "sim/web:v2", "")), sluice.Succeeded, "", v2Stands)
	})
}

// Hundreds of applications, and CodeDeploy refuses the rate: the group is found, one
// search later.
func TestAThrottledSearchFindsTheGroup(t *testing.T) {
	onShifts(t, shiftOptions{seed: 4, others: 300}, func(b *stagetest.Bench) {
		stagetest.Must(b, b.Sim.Inject("throttle codedeploy:* p=0.2"))
		expectLossless(b, b.Deploy(codeDeployFiles(b, "sim/web:v2", "")), sluice.Succeeded, "", v2Stands)
		n := 0
		for _, c := range b.Calls {
			if c.Operation == "ListApplications" {
				n++
			}
		}
		if n > 8 { // four pages, and those refused
			b.Errorf("%d ListApplications", n)
		}
		b.Calls = nil
		expectLossless(b, b.Deploy(codeDeployFiles(b, "sim/web:v1", "")), sluice.Succeeded, "", v1Stands)
		for _, c := range b.Calls {
			if c.Operation == "ListApplications" {
				b.Error("the group was searched for though the service's task set tells it")
			}
		}
	})
}

// Calls that fail on the way change nothing about the end.
func TestCallsOfAShiftThatFail(t *testing.T) {
	for _, fault := range []string{"5xx codedeploy:* p=0.2", "lost-reply codedeploy:* p=0.2",
		"throttle codedeploy:* p=0.3", "no-send codedeploy:* p=0.2", "throttle ecs:* p=0.2"} {
		t.Run(fault, func(t *testing.T) {
			for seed := range uint64(3) {
				onShifts(t, shiftOptions{seed: seed}, func(b *stagetest.Bench) {
					id := b.Start(codeDeployFiles(b, "sim/web:v2", config("half")))
					stagetest.Must(b, b.Sim.Inject(fault))
					end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
					b.Sim.ClearFaults()
					expectLossless(b, end, sluice.Succeeded, "", v2Stands)
					if list := stagetest.Got(codeDeployClient(b).ListDeployments(context.Background(),
						&awscd.ListDeploymentsInput{}))(b); len(list.Deployments) != 1 {
						b.Errorf("%d deployments", len(list.Deployments))
					}
				})
			}
		})
	}
}

// What CodeDeploy would refuse is refused in the plan.
func TestAppSpecsAreRefusedBeforeAnyWrite(t *testing.T) {
	onGroup(t, "", func(b *stagetest.Bench) {
		files := codeDeployFiles(b, "sim/web:v2", "")
		files["servicedef.yaml"].Data = append(files["servicedef.yaml"].Data,
			"platformVersion: "+strings.Repeat("1.4.0", 20_480)+"\n"...)
		b.Calls = nil
		_, err := b.Plan(files, mode.Options{})
		if err == nil || !strings.Contains(err.Error(), "bytes; at most 102400 are sent") {
			b.Errorf("%.300v", err)
		}
		for _, c := range b.Calls {
			if c.Write {
				b.Errorf("%s was called", c.Operation)
			}
		}
	})
}
