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
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
	"github.com/sluice-ecs/sluice/internal/watch"
)

const crash = "sim/web:v2?crash-after=2s&exit=3"

// ends fails the test unless the verdict is as wanted.
func (b *bench) ends(v verdict.Verdict, outcome sluice.Outcome, by string, kind diagnosis.Kind) {
	b.Helper()
	if v.Outcome != outcome || v.By != by || v.Cause.Kind != kind {
		b.Errorf("%s by %q for %q, want %s by %q for %q: %s\n%s", v.Outcome, v.By, v.Cause.Kind, outcome, by, kind,
			v.Detail, b.story())
	}
}

func TestARollingUpdateThatSucceeds(t *testing.T) {
	for _, balanced := range []bool{true, false} {
		on(t, options{codec: balanced}, func(b *bench) {
			if balanced {
				b.balance()
			}
			b.serve("web", b.revision("sim/web:v1"), rolling{desired: 2, breaker: true, rollback: true})
			b.deploy("web", b.revision("sim/web:v2"))
			v := b.wait("web", verdict.Wanted{Timeout: 10 * time.Minute})
			b.ends(v, sluice.Succeeded, "", "")
			if s := b.service("web"); len(s.Deployments) != 1 || v.Revision != "web:2" ||
				v.Deployment != *s.CurrentServiceDeployment {
				t.Errorf("%+v of %d deployments", v, len(s.Deployments))
			}
		})
	}
}

// TestCausesOnTheSimulator: broken images over a rolling service with and without
// a breaker, and as a canary's task set.
func TestCausesOnTheSimulator(t *testing.T) {
	const start = "sim/web:v2?noboot="
	for name, c := range map[string]struct {
		image string
		kind  diagnosis.Kind
	}{
		"image": {start + "CannotPullContainerError: image not found", diagnosis.ImageNotFound},
		"platform": {start + "CannotPullContainerError: image Manifest does not contain descriptor matching " +
			"platform 'linux/amd64'", diagnosis.ExecFormat},
		"exit": {crash, diagnosis.ExitCode},
		"secret": {start + "ResourceInitializationError: unable to retrieve secret from asm: AccessDeniedException",
			diagnosis.SecretUnread},
		"role":     {start + "ECS was unable to assume the role that was provided for this task", diagnosis.RoleRefused},
		"health":   {"sim/web:v2?never-healthy", diagnosis.BalancerHealth},
		"oom":      {"sim/web:v2?oom-after=2s", diagnosis.OutOfMemory},
		"format":   {"sim/web:v2?exec-format", diagnosis.ExecFormat},
		"port":     {"sim/web:v2?listen=9090", diagnosis.WrongPort},
		"secret 2": {"sim/web:v2?no-secret", diagnosis.SecretUnread},
		"role 2":   {"sim/web:v2?no-role", diagnosis.RoleRefused},
	} {
		t.Run(name, func(t *testing.T) {
			for _, breaker := range []bool{false, true} {
				on(t, options{}, func(b *bench) {
					b.balance()
					b.serve("web", b.revision("sim/web:v1"), rolling{desired: 2, breaker: breaker, rollback: breaker})
					b.deploy("web", b.revision(c.image))
					v := b.wait("web", verdict.Wanted{Timeout: time.Hour})
					if breaker {
						b.ends(v, sluice.RolledBack, "web:1", c.kind)
					} else {
						b.ends(v, sluice.Failed, "", c.kind)
					}
				})
			}
			on(t, options{}, func(b *bench) {
				b.balance()
				b.sets("web", b.revision("sim/web:v1"))
				b.set("web", b.revision(c.image))
				b.ends(b.wait("web", verdict.Wanted{Timeout: time.Hour}), sluice.Failed, "", c.kind)
			})
		})
	}
}

func TestNoCapacity(t *testing.T) {
	on(t, options{}, func(b *bench) {
		b.serve("web", b.revision("sim/web:v1"), rolling{desired: 2})
		must(b, b.sim.Inject("no-capacity prod"))
		b.deploy("web", b.revision("sim/web:v2"))
		v := b.wait("web", verdict.Wanted{Timeout: 3 * time.Minute})
		b.ends(v, sluice.TimedOut, "", diagnosis.NoCapacity)
	})
}

func TestSlowStart(t *testing.T) {
	on(t, options{}, func(b *bench) {
		b.serve("web", b.revision("sim/web:v1"), rolling{desired: 1})
		b.deploy("web", b.revision("sim/web:v2?start-delay=10m"))
		began := b.clock.Now()
		v := b.wait("web", verdict.Wanted{Timeout: 3 * time.Minute})
		b.ends(v, sluice.TimedOut, "", diagnosis.SlowStart)
		if d := b.clock.Now().Sub(began); d < 3*time.Minute || d > 3*time.Minute+time.Second {
			t.Errorf("the wait took %s", d)
		}
	})
}

func TestNoRoomToMove(t *testing.T) {
	on(t, options{}, func(b *bench) {
		b.serve("web", b.revision("sim/web:v1"), rolling{desired: 2, min: 75, max: 125})
		b.deploy("web", b.revision("sim/web:v2"))
		b.ends(b.wait("web", verdict.Wanted{Timeout: time.Hour}), sluice.Stalled, "", diagnosis.BlockedByConfig)
	})
}

func TestBreakerWithoutRollback(t *testing.T) {
	on(t, options{}, func(b *bench) {
		b.serve("web", b.revision("sim/web:v1"), rolling{desired: 2, breaker: true})
		b.deploy("web", b.revision(crash))
		b.ends(b.wait("web", verdict.Wanted{Timeout: time.Hour}), sluice.Failed, "", diagnosis.ExitCode)
	})
}

func TestSuperseded(t *testing.T) {
	on(t, options{}, func(b *bench) {
		b.balance()
		b.serve("web", b.revision("sim/web:v1"), rolling{desired: 2})
		b.deploy("web", b.revision("sim/web:v2"))
		b.clock.Go(func() {
			b.sleep(15 * time.Second)
			b.deploy("web", b.revision("sim/web:v3"))
		})
		b.ends(b.wait("web", verdict.Wanted{Timeout: time.Hour}), sluice.Superseded, "web:3", diagnosis.Superseding)
		b.ends(b.wait("web", verdict.Wanted{Timeout: time.Hour, Revision: "web:3"}), sluice.Succeeded, "", "")
	})
}

// TestTheSameRevisionIsRolledBack: a forced deployment of what serves fails,
// because what the image does has changed since; its revision is no witness.
func TestTheSameRevisionIsRolledBack(t *testing.T) {
	on(t, options{}, func(b *bench) {
		b.balance()
		rev := b.revision("sim/web:v1")
		b.serve("web", rev, rolling{desired: 2, breaker: true, rollback: true})
		b.deploy("web", "")
		current := *b.service("web").CurrentServiceDeployment
		b.sleep(5 * time.Second)
		got(b.ecs.StopServiceDeployment(context.Background(),
			&awsecs.StopServiceDeploymentInput{ServiceDeploymentArn: aws.String(current),
				StopType: ecstypes.StopServiceDeploymentStopTypeRollback}))(b)
		v := b.wait("web", verdict.Wanted{Timeout: time.Hour, Revision: rev})
		if v.Outcome != sluice.RolledBack || v.By != rev || !strings.Contains(v.Detail, "same revision") {
			t.Errorf("%+v\n%s", v, b.story())
		}
	})
}

func TestAWaitMayBeginAtAnyTime(t *testing.T) {
	for _, after := range []time.Duration{0, time.Second, 20 * time.Second, 2 * time.Minute, 20 * time.Minute} {
		on(t, options{}, func(b *bench) {
			b.serve("web", b.revision("sim/web:v1"), rolling{desired: 2, breaker: true, rollback: true})
			b.deploy("web", b.revision(crash))
			b.sleep(after)
			v := b.wait("web", verdict.Wanted{Timeout: time.Hour})
			if v.Outcome != sluice.RolledBack || v.By != "web:1" {
				t.Errorf("after %s: %+v", after, v)
			}
			v = b.wait("web", verdict.Wanted{Timeout: time.Hour, Revision: "web:2"})
			if v.Outcome != sluice.RolledBack {
				t.Errorf("after %s, by revision: %+v", after, v)
			}
		})
	}
}

func TestTheWaitBeginsBeforeTheDeployment(t *testing.T) {
	on(t, options{}, func(b *bench) {
		b.serve("web", b.revision("sim/web:v1"), rolling{desired: 2})
		rev := b.revision("sim/web:v2")
		b.clock.Go(func() {
			b.sleep(90 * time.Second)
			b.deploy("web", rev)
		})
		b.ends(b.wait("web", verdict.Wanted{Timeout: time.Hour, Revision: rev}), sluice.Succeeded, "", "")
	})
}

// Point 4 of the known faults of a wait tool: one name in different forms.
func TestPoint4NamesInAnyForm(t *testing.T) {
	on(t, options{}, func(b *bench) {
		b.serve("web", b.revision("sim/web:v1"), rolling{desired: 1})
		s := b.service("web")
		for _, td := range []string{"web:1", *s.TaskDefinition} {
			for _, svc := range []string{"web", *s.ServiceArn} {
				b.ends(b.wait(svc, verdict.Wanted{Timeout: time.Minute, Revision: td}), sluice.Succeeded, "", "")
			}
		}
		for _, id := range []string{*s.CurrentServiceDeployment, sluice.ARNName(*s.CurrentServiceDeployment),
			*s.Deployments[0].Id} {
			b.ends(b.wait("web", verdict.Wanted{Timeout: time.Minute, Deployment: id}), sluice.Succeeded, "", "")
		}
	})
}

func TestServiceDeletedDuringADeployment(t *testing.T) {
	for name, act := range map[string]func(*bench){
		"deleted": func(b *bench) {
			got(b.ecs.DeleteService(context.Background(), &awsecs.DeleteServiceInput{Cluster: aws.String("prod"),
				Service: aws.String("web"), Force: aws.Bool(true)}))(b)
		},
		"scaled to 0": func(b *bench) {
			got(b.ecs.UpdateService(context.Background(), &awsecs.UpdateServiceInput{Cluster: aws.String("prod"),
				Service: aws.String("web"), DesiredCount: aws.Int32(0)}))(b)
		},
	} {
		t.Run(name, func(t *testing.T) {
			on(t, options{}, func(b *bench) {
				b.serve("web", b.revision("sim/web:v1"), rolling{desired: 2})
				b.deploy("web", b.revision("sim/web:v2"))
				b.clock.Go(func() { b.sleep(12 * time.Second); act(b) })
				v := b.wait("web", verdict.Wanted{Timeout: time.Hour})
				b.ends(v, sluice.Gone, "", "")
			})
		})
	}
}

// The desired count is 0, and the deployment was rolled back: no task of either version shows anything.
func TestNoTaskAfterARollback(t *testing.T) {
	on(t, options{}, func(b *bench) {
		b.serve("web", b.revision("sim/web:v1"), rolling{desired: 2, breaker: true, rollback: true})
		b.deploy("web", b.revision("sim/web:v2?crash-after=3s"))
		b.until("AWS has rolled back", func() bool {
			d := b.service("web").Deployments
			return len(d) == 1 && d[0].RolloutState == "COMPLETED" && strings.HasSuffix(*d[0].TaskDefinition, "/web:1")
		})
		b.scale("web", 0)
		v := b.wait("web", verdict.Wanted{Timeout: time.Hour})
		b.ends(v, sluice.Gone, "", diagnosis.ExitCode)
		if !v.NoTasks {
			t.Error(v.Detail)
		}
	})
}

func TestWhatCannotBeJudged(t *testing.T) {
	on(t, options{}, func(b *bench) {
		b.serve("web", b.revision("sim/web:v1"), rolling{desired: 1})
		for name, target := range map[string]watch.Target{
			"no cluster":    {Cluster: "nosuch", Service: "web"},
			"no definition": {Cluster: "prod", Service: "web", Wanted: verdict.Wanted{Revision: "web:99"}},
			"no service":    {Cluster: "prod"},
		} {
			if _, err := b.watch.Wait(context.Background(), target, nil); err == nil {
				t.Errorf("%s: no error", name)
			}
		}
		ctx, cancel := b.clock.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		seen, err := b.watch.Wait(ctx, watch.Target{Cluster: "prod", Service: "web",
			Wanted: verdict.Wanted{Revision: b.revision("sim/web:v2")}}, nil)
		if err == nil || seen.Service == nil {
			t.Errorf("the context ended: %v", err)
		}
	})
}

// sets makes a service with controller EXTERNAL that serves a revision.
func (b *bench) sets(name, revision string) {
	b.Helper()
	got(b.ecs.CreateService(context.Background(), &awsecs.CreateServiceInput{Cluster: aws.String("prod"),
		ServiceName: aws.String(name), DesiredCount: aws.Int32(2),
		DeploymentController: &ecstypes.DeploymentController{Type: ecstypes.DeploymentControllerTypeExternal}}))(b)
	id := b.set(name, revision)
	b.promote(name, id)
	b.until("the primary set is steady",
		func() bool { return b.service(name).TaskSets[0].StabilityStatus == ecstypes.StabilityStatusSteadyState })
}

func (b *bench) set(name, revision string) string {
	b.Helper()
	subnets, _ := b.places()
	in := &awsecs.CreateTaskSetInput{Cluster: aws.String("prod"), Service: aws.String(name),
		TaskDefinition: aws.String(revision), LaunchType: ecstypes.LaunchTypeFargate,
		NetworkConfiguration: &ecstypes.NetworkConfiguration{AwsvpcConfiguration: &ecstypes.AwsVpcConfiguration{Subnets: subnets}},
		Scale:                &ecstypes.Scale{Unit: ecstypes.ScaleUnitPercent, Value: 100}}
	if b.group != "" {
		in.LoadBalancers = []ecstypes.LoadBalancer{{TargetGroupArn: aws.String(b.group),
			ContainerName: aws.String("web"), ContainerPort: aws.Int32(8080)}}
	}
	return *got(b.ecs.CreateTaskSet(context.Background(), in))(b).TaskSet.Id
}

func (b *bench) promote(name, id string) {
	got(b.ecs.UpdateServicePrimaryTaskSet(context.Background(),
		&awsecs.UpdateServicePrimaryTaskSetInput{Cluster: aws.String("prod"), Service: aws.String(name),
			PrimaryTaskSet: aws.String(id)}))(b)
}

func (b *bench) drop(name, id string) {
	got(b.ecs.DeleteTaskSet(context.Background(), &awsecs.DeleteTaskSetInput{Cluster: aws.String("prod"),
		Service: aws.String(name), TaskSet: aws.String(id), Force: aws.Bool(true)}))(b)
}

func TestTaskSetsOnTheSimulator(t *testing.T) {
	for _, promoted := range []bool{true, false} {
		t.Run(fmt.Sprint("promoted ", promoted), func(t *testing.T) {
			on(t, options{}, func(b *bench) {
				b.sets("web", b.revision("sim/web:v1"))
				old := *b.service("web").TaskSets[0].Id
				fresh := b.set("web", b.revision("sim/web:v2"))
				b.clock.Go(func() {
					b.sleep(2 * time.Minute)
					if !promoted {
						b.drop("web", fresh)
						return
					}
					b.promote("web", fresh)
					b.drop("web", old)
				})
				v := b.wait("web", verdict.Wanted{Timeout: time.Hour})
				if promoted {
					b.ends(v, sluice.Succeeded, "", "")
				} else {
					b.ends(v, sluice.RolledBack, "web:1", "")
				}
			})
		})
	}
}

func TestAnAlarmRollsBack(t *testing.T) {
	on(t, options{}, func(b *bench) {
		ctx, alarms := context.Background(), awscw.NewFromConfig(b.sim.Config())
		got(alarms.PutMetricAlarm(ctx, &awscw.PutMetricAlarmInput{AlarmName: aws.String("web-5xx"),
			MetricName: aws.String("HTTPCode_Target_5XX_Count"), Namespace: aws.String("AWS/ApplicationELB"),
			Period: aws.Int32(60), EvaluationPeriods: aws.Int32(1), Threshold: aws.Float64(1),
			ComparisonOperator: cwtypes.ComparisonOperatorGreaterThanThreshold,
			Statistic:          cwtypes.StatisticSum, TreatMissingData: aws.String("ignore")}))(b)
		b.serve("web", b.revision("sim/web:v1"), rolling{desired: 2})
		got(b.ecs.UpdateService(ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("prod"), Service: aws.String("web"),
			TaskDefinition:          aws.String(b.revision("sim/web:v2")),
			DeploymentConfiguration: &ecstypes.DeploymentConfiguration{Alarms: &ecstypes.DeploymentAlarms{AlarmNames: []string{"web-5xx"}, Enable: true, Rollback: true}}}))(b)
		b.clock.Go(func() {
			b.sleep(75 * time.Second)
			got(alarms.SetAlarmState(ctx, &awscw.SetAlarmStateInput{AlarmName: aws.String("web-5xx"),
				StateValue: cwtypes.StateValueAlarm, StateReason: aws.String("test")}))(b)
		})
		v := b.wait("web", verdict.Wanted{Timeout: time.Hour})
		b.ends(v, sluice.RolledBack, "web:1", diagnosis.AlarmFired)
	})
}

// TestTheSameTwice: one seed, one story.
func TestTheSameTwice(t *testing.T) {
	once := func() (story string) {
		on(t, options{seed: 7}, func(b *bench) {
			b.balance()
			fresh := b.many(12)
			for i := range 12 {
				b.deploy(fmt.Sprint("s", i), fresh)
			}
			var waits []func()
			for i := range 12 {
				waits = append(waits, func() { b.wait(fmt.Sprint("s", i), verdict.Wanted{Timeout: time.Hour}) })
			}
			clock.All(b.clock, waits...)
			story = b.story()
		})
		return story
	}
	if a, b := once(), once(); a != b || a == "" {
		t.Errorf("first\n%s\nsecond\n%s", a, b)
	}
}
