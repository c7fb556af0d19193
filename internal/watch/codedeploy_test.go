package watch_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscw "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	awscd "github.com/aws/aws-sdk-go-v2/service/codedeploy"
	cdtypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
	"github.com/sluice-ecs/sluice/internal/watch"
)

const onFailure = "rollback: [DEPLOYMENT_FAILURE]"

func TestACodeDeploymentThatSucceeds(t *testing.T) {
	for name, named := range map[string]bool{"by its id": true, "by its service": false} {
		t.Run(name, func(t *testing.T) {
			onCode(t, codeOptions{seed: 1}, func(b *codeBench) {
				id := b.bring("sim/web:v2", "half")
				var w verdict.Wanted
				if named {
					w.Deployment = id
				}
				v := b.follow(w)
				b.is(v, sluice.Succeeded, "", "", "web:2 serves, 3 of 3 running")
				if v.Deployment != id || v.Revision != "web:2" ||
					b.get(id).Status != cdtypes.DeploymentStatusSucceeded {
					t.Errorf("%+v", v)
				}
				told := strings.Join(b.seen, "\n")
				for _, want := range []string{"Install; ", "AllowTraffic; web:2: 3 of 3 running, 50% of the traffic",
					"web:1: 3 running, 50%"} {
					if !strings.Contains(told, want) {
						t.Errorf("%q was not told:\n%s", want, told)
					}
				}
				again := b.follow(verdict.Wanted{Deployment: v.Deployment})
				b.is(again, sluice.Succeeded, "", "", "web:2 serves")
				b.is(b.follow(verdict.Wanted{}), sluice.Succeeded, "", "", "web:2 serves")
			})
		})
	}
}

// Another process or person leads the listener of the deployment group to its empty group after the success.
func TestAWaitOverAListenerToTheEmptyGroup(t *testing.T) {
	onCode(t, codeOptions{seed: 1}, func(b *codeBench) {
		ctx := context.Background()
		b.is(b.follow(verdict.Wanted{Deployment: b.bring("sim/web:v2", "")}), sluice.Succeeded, "", "", "web:2 serves")
		was := got(b.elb.DescribeTargetGroups(ctx, &awselb.DescribeTargetGroupsInput{Names: []string{"web-a"}}))(b)
		got(b.elb.ModifyListener(ctx, &awselb.ModifyListenerInput{ListenerArn: b.listener(), DefaultActions: []elbtypes.Action{
			{Type: elbtypes.ActionTypeEnumForward, TargetGroupArn: was.TargetGroups[0].TargetGroupArn}}}))(b)
		b.sleep(time.Minute)
		b.is(b.follow(verdict.Wanted{}), sluice.Failed, "", "", "web-a, which has no targets")
	})
}

func TestARevisionIsWaitedFor(t *testing.T) {
	onCode(t, codeOptions{seed: 2}, func(b *codeBench) {
		b.is(b.follow(verdict.Wanted{}), sluice.Succeeded, "", "", "web:1 serves",
			"has not deployed it since it was created")
		b.is(b.follow(verdict.Wanted{Revision: "web:1"}), sluice.Succeeded, "", "", "web:1 serves")
		b.is(b.follow(verdict.Wanted{Revision: "web:1", Serving: true, Timeout: 5 * time.Second}), sluice.Succeeded, "",
			"", "web:1 serves", "has not deployed it since it was created")
		b.clock.Go(func() {
			b.sleep(time.Minute)
			b.bring("sim/web:v2", "")
		})
		td := got(b.ecs.RegisterTaskDefinition(context.Background(),
			&awsecs.RegisterTaskDefinitionInput{Family: aws.String("other"),
				ContainerDefinitions: b.containers("sim/web:v9")}))(b)
		b.is(b.follow(verdict.Wanted{Revision: *td.TaskDefinition.TaskDefinitionArn, Timeout: 20 * time.Minute}),
			sluice.TimedOut, "", "", "other:1 has not appeared; web:2 serves")
		b.is(b.follow(verdict.Wanted{Revision: "web:2"}), sluice.Succeeded, "", "", "web:2 serves")
		b.bringable("sim/web:v3") // web:3 exists, and nothing brings it
		arn := b.bringable("sim/web:v4")
		b.clock.Go(func() {
			b.sleep(time.Minute)
			b.start(arn, "")
		})
		b.is(b.follow(verdict.Wanted{Revision: "web:4", Timeout: 20 * time.Minute}), sluice.Succeeded, "", "",
			"web:4 serves")
	})
}

func TestAHookThatFails(t *testing.T) {
	for function, words := range map[string]string{"refuse": "reported Failed", "nobody": "was not found"} {
		kind := diagnosis.HookFailed
		if function == "nobody" {
			kind = diagnosis.HookMissing
		}
		for _, event := range []string{"BeforeInstall", "AfterInstall", "BeforeAllowTraffic", "AfterAllowTraffic"} {
			onCode(t, codeOptions{seed: 3}, func(b *codeBench) {
				v := b.follow(verdict.Wanted{Deployment: b.bring("sim/web:v2", "", event, function)})
				b.is(v, sluice.Failed, "", kind, "hook "+event, function, words)
				if torn := strings.Contains(v.Detail,
					"100% of the traffic is at web:2, 0% at web:1"); torn != (event == "AfterAllowTraffic") {
					t.Errorf("%s: %s", event, v.Detail)
				}
			})
			onCode(t, codeOptions{seed: 4, group: onFailure}, func(b *codeBench) {
				v := b.follow(verdict.Wanted{Deployment: b.bring("sim/web:v2", "", event, function)})
				if event == "BeforeInstall" { // nothing was made yet
					b.is(v, sluice.Failed, "", kind, "cannot be rolled back")
					return
				}
				b.is(v, sluice.RolledBack, "web:1", kind, "web:2 was rolled back to web:1: hook "+event)
			})
		}
	}
}

func TestAHookThatHangs(t *testing.T) {
	onCode(t, codeOptions{seed: 5}, func(b *codeBench) {
		id := b.bring("sim/web:v2", "", "AfterInstall", "hang")
		b.is(b.follow(verdict.Wanted{Deployment: id, Deadline: 10 * time.Minute}), sluice.Stalled, "", "",
			"the function of hook AfterInstall has not reported for 10m0s")
		b.is(b.follow(verdict.Wanted{Deployment: id}), sluice.Failed, "", diagnosis.HookFailed,
			"did not report a status within 3600 seconds")
	})
}

func TestACodeDeploymentThatIsStopped(t *testing.T) {
	for name, c := range map[string]struct {
		back    bool
		outcome sluice.Outcome
		by      string
		words   string
	}{
		"with rollback":    {true, sluice.RolledBack, "web:1", "web:2 was rolled back to web:1"},
		"without rollback": {false, sluice.Stopped, "", "50% of the traffic is at web:2, 50% at web:1"},
	} {
		t.Run(name, func(t *testing.T) {
			onCode(t, codeOptions{seed: 6}, func(b *codeBench) {
				id := b.bring("sim/web:v2", "half")
				b.clock.Go(func() {
					b.until("half", func() bool { return b.weight(id) == 50 })
					b.stop(id, c.back)
				})
				b.is(b.follow(verdict.Wanted{}), c.outcome, c.by, "", c.words)
				b.is(b.follow(verdict.Wanted{}), c.outcome, c.by, "", c.words) // begun after the end
				if back := b.get(id).RollbackInfo; back != nil {
					b.is(b.follow(verdict.Wanted{Deployment: *back.RollbackDeploymentId}), sluice.Succeeded, "", "",
						"it rolled back the deployment "+id)
				}
			})
		})
	}
}

func TestAnAlarmEndsACodeDeployment(t *testing.T) {
	for rollback, want := range map[string]sluice.Outcome{"": sluice.Failed,
		"\nrollback: [DEPLOYMENT_STOP_ON_ALARM]": sluice.RolledBack} {
		onCode(t, codeOptions{seed: 7, group: "alarms: [slow]" + rollback}, func(b *codeBench) {
			alarms := awscw.NewFromConfig(b.sim.Config())
			got(alarms.PutMetricAlarm(context.Background(), &awscw.PutMetricAlarmInput{AlarmName: aws.String("slow"),
				MetricName: aws.String("m"), Namespace: aws.String("n"),
				Statistic: cwtypes.StatisticAverage, ComparisonOperator: cwtypes.ComparisonOperatorGreaterThanThreshold,
				Threshold: aws.Float64(1), Period: aws.Int32(60), EvaluationPeriods: aws.Int32(1),
				TreatMissingData: aws.String("ignore")}))(b)
			got(alarms.SetAlarmState(context.Background(), &awscw.SetAlarmStateInput{AlarmName: aws.String("slow"),
				StateValue: cwtypes.StateValueOk, StateReason: aws.String("t")}))(b)
			id := b.bring("sim/web:v2", "half")
			b.clock.Go(func() {
				b.until("half", func() bool { return b.weight(id) == 50 })
				got(alarms.SetAlarmState(context.Background(), &awscw.SetAlarmStateInput{AlarmName: aws.String("slow"),
					StateValue: cwtypes.StateValueAlarm, StateReason: aws.String("t")}))(b)
			})
			by := ""
			if want == sluice.RolledBack {
				by = "web:1"
			}
			b.is(b.follow(verdict.Wanted{Deployment: id}), want, by, diagnosis.AlarmFired, "Activated alarms: slow")
		})
	}
}

func TestReadyWaitsForAUser(t *testing.T) {
	onCode(t, codeOptions{seed: 8, group: "ready: 20m"}, func(b *codeBench) {
		id := b.bring("sim/web:v2", "")
		b.clock.Go(func() {
			b.until("ready", func() bool { return b.get(id).Status == cdtypes.DeploymentStatusReady })
			b.sleep(12 * time.Minute) // longer than the deadline
			got(b.ContinueDeployment(context.Background(), &awscd.ContinueDeploymentInput{DeploymentId: &id}))(b)
		})
		b.is(b.follow(verdict.Wanted{Deployment: id, Deadline: 5 * time.Minute}), sluice.Succeeded, "", "",
			"web:2 serves")
		if told := strings.Join(b.seen, "\n"); !strings.Contains(told, "ready: it waits until a user") ||
			!strings.Contains(told, "for 20m0s until ") {
			t.Error(told)
		}
		next := b.bring("sim/web:v3", "")
		b.is(b.follow(verdict.Wanted{Deployment: next}), sluice.Failed, "", diagnosis.NotContinued,
			"it was not continued within 20m0s")
		b.is(b.follow(verdict.Wanted{Deployment: id}), sluice.Succeeded, "", "")
	})
}

func TestTasksOfTheReplacementThatFail(t *testing.T) {
	for name, c := range map[string]struct {
		image string
		kind  diagnosis.Kind
		words string
	}{
		"exit": {crash, diagnosis.ExitCode, "exit code 3 of container web"},
		"image": {"sim/web:v2?noboot=CannotPullContainerError: image not found", diagnosis.ImageNotFound,
			"image not found"},
		"health": {"sim/web:v2?never-healthy", diagnosis.BalancerHealth, "health checks"},
		"oom":    {"sim/web:v2?oom-after=2s", diagnosis.OutOfMemory, "OutOfMemoryError"},
	} {
		t.Run(name, func(t *testing.T) {
			onCode(t, codeOptions{seed: 9, group: onFailure}, func(b *codeBench) {
				id := b.bring(c.image, "")
				v := b.follow(verdict.Wanted{Deployment: id})
				b.is(v, sluice.Failed, "", c.kind, "web:2 failed: ", c.words,
					"CodeDeploy continues to wait for up to an hour")
				if d := b.get(id); d.Status != cdtypes.DeploymentStatusInProgress ||
					!strings.HasSuffix(v.Next, "sluice rollback --cluster prod --service web") {
					t.Errorf("%s, next: %s", d.Status, v.Next)
				}
				b.stop(id, true)
				b.is(b.follow(verdict.Wanted{Deployment: id, ExpectsRollback: true}), sluice.RolledBack, "web:1",
					c.kind)
			})
		})
	}
}

func TestReplacementThatFindsNoPlace(t *testing.T) {
	onCode(t, codeOptions{seed: 10, group: onFailure}, func(b *codeBench) {
		must(b, b.sim.Inject("no-capacity prod"))
		id := b.bring("sim/web:v2", "")
		b.is(b.follow(verdict.Wanted{Deployment: id, Deadline: 5 * time.Minute}), sluice.Stalled, "",
			diagnosis.NoCapacity, "Install; web:2: 0 of 3 running")
		b.is(b.follow(verdict.Wanted{Deployment: id}), sluice.RolledBack, "web:1", diagnosis.NoCapacity)
	})
}

func TestResourcesOfACodeDeploymentAreDeleted(t *testing.T) {
	for name, delete := range map[string]func(b *codeBench) error{
		"group": func(b *codeBench) error {
			_, err := b.DeleteDeploymentGroup(context.Background(),
				&awscd.DeleteDeploymentGroupInput{ApplicationName: aws.String("shop"),
					DeploymentGroupName: aws.String("web")})
			return err
		},
		"application": func(b *codeBench) error {
			_, err := b.DeleteApplication(context.Background(),
				&awscd.DeleteApplicationInput{ApplicationName: aws.String("shop")})
			return err
		},
		"service": func(b *codeBench) error {
			_, err := b.ecs.DeleteService(context.Background(), &awsecs.DeleteServiceInput{Cluster: aws.String("prod"),
				Service: aws.String("web"), Force: aws.Bool(true)})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			onCode(t, codeOptions{seed: 11, group: onFailure}, func(b *codeBench) {
				id := b.bring("sim/web:v2", "half")
				b.clock.Go(func() {
					b.until("half", func() bool { return b.weight(id) == 50 })
					must(b, delete(b))
				})
				v := b.follow(verdict.Wanted{Deployment: id})
				b.is(v, sluice.Failed, "", diagnosis.GroupMissing, "cannot be rolled back")
			})
		})
	}
}

func TestADeploymentThatCodeDeployDoesNotKnow(t *testing.T) {
	onCode(t, codeOptions{seed: 12}, func(b *codeBench) {
		b.is(b.follow(verdict.Wanted{Deployment: "d-UNKNOWN00"}), sluice.Gone, "", "",
			"CodeDeploy has no deployment d-UNKNOWN00")
	})
}

func TestALaterDeploymentHasReplacedIt(t *testing.T) {
	onCode(t, codeOptions{seed: 13}, func(b *codeBench) {
		first := b.bring("sim/web:v2", "")
		b.finishes(first)
		b.finishes(b.bring("sim/web:v3", ""))
		b.is(b.follow(verdict.Wanted{Deployment: first}), sluice.Superseded, "web:3", "",
			"web:2 was superseded by web:3")
	})
}

func TestTheOriginalIsKeptForAWhile(t *testing.T) {
	onCode(t, codeOptions{seed: 14, group: "terminate: 30m"}, func(b *codeBench) {
		id := b.bring("sim/web:v2", "")
		b.is(b.follow(verdict.Wanted{Deployment: id, Timeout: 3 * time.Minute}), sluice.TimedOut, "", "",
			"all traffic is at the replacement; the original task set is kept for 30m0s until ")
		calls := len(b.calls)
		b.is(b.follow(verdict.Wanted{Deployment: id, Deadline: time.Minute}), sluice.Succeeded, "", "")
		// 200, and one read of the rules and of both groups at the beginning and at the end
		if n := len(b.calls) - calls; n > 206 {
			t.Errorf("%d calls in half an hour", n)
		}
	})
}

func TestACodeDeploymentByItsIDAlone(t *testing.T) {
	onCode(t, codeOptions{seed: 15}, func(b *codeBench) {
		id := b.bring("sim/web:v2", "")
		s, err := b.watch.Wait(context.Background(), watch.Target{Wanted: verdict.Wanted{Deployment: id}}, nil)
		must(b, err)
		b.is(s.Verdict, sluice.Succeeded, "", "", "web:2 serves")
		if s.Target.Name() != "deployment "+id || s.CodeTarget.Green.Weight != 100 ||
			s.Code.Config != "CodeDeployDefault.ECSAllAtOnce" {
			t.Errorf("%+v %+v %+v", s.Target, s.CodeTarget, s.Code)
		}
	})
}

// TestReadsThatFail: throttles, 5xx and slow answers delay a verdict, and do not
// change it.
func TestReadsThatFail(t *testing.T) {
	for _, fault := range []string{"throttle codedeploy:* for=90s", "5xx codedeploy:* p=0.3",
		"lost-reply codedeploy:* p=0.2", "throttle ecs:* for=2m", "stale codedeploy:* by=4s"} {
		t.Run(fault, func(t *testing.T) {
			onCode(t, codeOptions{seed: 16, group: onFailure}, func(b *codeBench) {
				id := b.bring("sim/web:v2", "", "AfterAllowTraffic", "refuse")
				must(b, b.sim.Inject(fault))
				b.is(b.follow(verdict.Wanted{}), sluice.RolledBack, "web:1", diagnosis.HookFailed)
				_ = id
			})
		})
	}
}

// TestManyWaitsShareOneSearch: services that CodeDeploy never deployed are found by
// one search of the account.
func TestManyWaitsShareOneSearch(t *testing.T) {
	var rest strings.Builder
	for i := range 150 {
		fmt.Fprintf(&rest, "  - {name: other-%d}\n", i)
	}
	onCode(t, codeOptions{seed: 17, rest: rest.String()}, func(b *codeBench) {
		waits := make([]func(), 5)
		for i := range waits {
			waits[i] = func() { b.is(b.follow(verdict.Wanted{}), sluice.Succeeded, "", "", "web:1 serves") }
		}
		clock.All(b.clock, waits...)
		n := 0
		for _, c := range b.calls {
			if c.Operation == "ListDeploymentGroups" {
				n++
			}
		}
		if n != 151 {
			t.Errorf("%d applications were asked", n)
		}
	})
}

// TestACodeWaitMayBeginAtAnyTime: by the service, while a hook runs before anything was
// installed, while it is rolled back, and after that.
func TestACodeWaitMayBeginAtAnyTime(t *testing.T) {
	onCode(t, codeOptions{seed: 18, group: onFailure}, func(b *codeBench) {
		b.bring("sim/web:v2", "", "BeforeInstall", "approve")
		b.sleep(5 * time.Second)
		b.is(b.follow(verdict.Wanted{}), sluice.Succeeded, "", "", "web:2 serves")
		id := b.bring("sim/web:v3", "", "AfterAllowTraffic", "refuse")
		b.until("it is rolled back", func() bool {
			r := b.get(id).RollbackInfo
			return r != nil &&
				r.RollbackDeploymentId != nil
		})
		v := b.follow(verdict.Wanted{})
		b.is(v, sluice.RolledBack, "web:2", diagnosis.HookFailed)
		if v.Deployment != id {
			t.Errorf("it followed %s, not %s", v.Deployment, id)
		}
		b.is(b.follow(verdict.Wanted{Revision: "web:3"}), sluice.RolledBack, "web:2", diagnosis.HookFailed)
		b.is(b.follow(verdict.Wanted{Revision: "web:2"}), sluice.Succeeded, "", "")
	})
}

// TestAWrongClockChangesNothingOfACodeWait: AWS's times are not compared with ours.
func TestAWrongClockChangesNothingOfACodeWait(t *testing.T) {
	for _, skew := range []time.Duration{-4 * time.Minute, 4 * time.Minute} {
		onCode(t, codeOptions{seed: 19, group: onFailure + "\nterminate: 2m", skew: skew}, func(b *codeBench) {
			b.is(b.follow(verdict.Wanted{Deployment: b.bring("sim/web:v2", "half"), Deadline: 5 * time.Minute}),
				sluice.Succeeded, "", "", "web:2 serves")
			b.is(b.follow(verdict.Wanted{Deployment: b.bring("sim/web:v3", "", "AfterInstall", "refuse")}),
				sluice.RolledBack, "web:2", diagnosis.HookFailed)
		})
	}
}
