package discovered_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	awssd "github.com/aws/aws-sdk-go-v2/service/servicediscovery"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// namedWait is a canary by name with time in which others act.
const namedWait = `
pipeline:
  stages:
    - {name: ECS_CANARY_ROLLOUT, with: {scale: 50}}
    - {name: ECS_TRAFFIC_ROUTING, with: {canary: 25}}
    - {name: WAIT, with: {duration: 10m}}
    - {name: ECS_PRIMARY_ROLLOUT}
    - {name: ECS_TRAFFIC_ROUTING, with: {primary: 100}}
    - {name: ECS_CANARY_CLEAN}
`

const apiRegistry = "srv-0123456789abcdef"

// instanceIDs are the ids that are found, of the canary or not.
func instanceIDs(b *stagetest.NameBench, canary bool) (ids []string) {
	b.Helper()
	out := stagetest.Got(b.Discovery.ListInstances(context.Background(),
		&awssd.ListInstancesInput{ServiceId: aws.String(apiRegistry)}))(b)
	for _, i := range out.Instances {
		if strings.HasPrefix(*i.Id, plan.IDPrefix) == canary {
			ids = append(ids, *i.Id)
		}
	}
	return ids
}

func deregisterInstance(b *stagetest.NameBench, id string) {
	b.Helper()
	stagetest.Got(b.Discovery.DeregisterInstance(context.Background(),
		&awssd.DeregisterInstanceInput{ServiceId: aws.String(apiRegistry), InstanceId: aws.String(id)}))(b)
}

func registerInstance(b *stagetest.NameBench, id, address string) {
	b.Helper()
	stagetest.Got(b.Discovery.RegisterInstance(context.Background(),
		&awssd.RegisterInstanceInput{ServiceId: aws.String(apiRegistry),
			InstanceId: aws.String(id), CreatorRequestId: aws.String(id),
			Attributes: map[string]string{"AWS_INSTANCE_IPV4": address}}))(b)
}

// hiddenTask is a task of the primary that runs and is not found, and its address.
func hiddenTask(b *stagetest.NameBench) (id, address string) {
	b.Helper()
	tasks := stagetest.Got(b.ECS.ListTasks(context.Background(), &awsecs.ListTasksInput{Cluster: aws.String("prod"),
		ServiceName: aws.String("api")}))(b)
	found := strings.Join(append(instanceIDs(b, false), instanceIDs(b, true)...), " ")
	for _, t := range stagetest.Got(b.ECS.DescribeTasks(context.Background(),
		&awsecs.DescribeTasksInput{Cluster: aws.String("prod"), Tasks: tasks.TaskArns}))(b).Tasks {
		if !strings.Contains(found, sluice.ARNName(*t.TaskArn)) && !strings.HasSuffix(*t.TaskDefinitionArn, ":2") {
			for _, d := range t.Attachments[0].Details {
				if *d.Name == "privateIPv4Address" {
					return sluice.ARNName(*t.TaskArn), *d.Value
				}
			}
		}
	}
	b.Fatal("every task of the primary is found")
	return "", ""
}

// Each record that somebody else may take out or put in, under each policy and on
// both hostings: the table of docs/reference/external-changes.md.
func TestNamedOutsideChange(t *testing.T) {
	type cell struct {
		outcome          sluice.Outcome
		says, soon, ends string // in the events; who is found a minute and a half later, and in the end
	}
	const all, held = "4 primary, 0 canary", "3 primary, 1 canary"
	for name, c := range map[string]struct {
		do                    func(*stagetest.NameBench)
		stop, reassert, adopt cell
	}{
		"a record of the primary is taken out": {do: func(b *stagetest.NameBench) {
			deregisterInstance(b,
				instanceIDs(b, false)[0])
		},
			stop: cell{sluice.RolledBack, "1 instance of the primary deregistered", "",
				"3 primary, 0 canary"},
			reassert: cell{sluice.Succeeded, "of the primary deregistered (", held, all},
			adopt:    cell{sluice.Succeeded, "sluice keeps it", held, all}},
		"the record of the canary is taken out": {do: func(b *stagetest.NameBench) {
			deregisterInstance(b,
				instanceIDs(b, true)[0])
		},
			stop:     cell{sluice.RolledBack, "1 instance of the canary deregistered", "", all},
			reassert: cell{sluice.Succeeded, "sluice reverts it", held, all},
			adopt:    cell{sluice.Succeeded, "sluice keeps it", held, all}},
		"a record that we took out is put in": {do: func(b *stagetest.NameBench) {
			id, address := hiddenTask(b)
			registerInstance(b, id, address)
		},
			stop:     cell{sluice.RolledBack, "registered again", "", all},
			reassert: cell{sluice.Succeeded, "sluice reverts it", held, all},
			adopt:    cell{sluice.Succeeded, "sluice keeps it", held, all}},
	} {
		for policy, want := range map[sluice.OnOutside]cell{sluice.StopOnChange: c.stop,
			sluice.ReassertChange: c.reassert, sluice.AdoptChange: c.adopt} {
			for _, controller := range []string{"EXTERNAL", "ECS"} {
				t.Run(fmt.Sprintf("%s/%s/%s", name, policy, controller), func(t *testing.T) {
					t.Parallel()
					stagetest.RunByName(t, stagetest.Named{Controller: controller, Image: "?term=80s"},
						func(b *stagetest.NameBench) {
							ctx := context.Background()
							files := stagetest.AddLines(b.NamedFiles("sim/api:v2?term=80s", namedWait), "sluice.yaml",
								"onOutsideChange: "+string(policy)+"\n")
							ran := b.RunBeside(b.Engine, b.Start(files))
							b.Until("the wait", func() bool { return strings.Contains(b.EventLog(), "10m0s to pass") })
							stagetest.Must(b, b.Clock.Sleep(ctx, 2*time.Minute))
							c.do(b)
							stagetest.Must(b, b.Clock.Sleep(ctx, 90*time.Second))
							if want.soon != "" && b.Found() != want.soon {
								b.Errorf("soon after %s are found, want %s", b.Found(), want.soon)
							}
							b.Until("it is over", func() bool { return ran.Done })
							stagetest.Must(b, ran.Err)
							if ran.RunResult.Outcome != want.outcome || b.Found() != want.ends ||
								!strings.Contains(b.EventLog(), want.says) {
								b.Errorf("%s: %s; %s; want %s, %q, %s\n%s", ran.RunResult.Outcome, ran.RunResult.Cause,
									b.Found(), want.outcome, want.says, want.ends, b.EventLog())
							}
							b.ExpectNobodyLost()
						})
				})
			}
		}
	}
}

// An address that is nobody's of ours is told of as soon as it is seen, and left,
// whatever the policy: whoever registered it takes it away.
func TestNamedStrangerIsToldOfAndLeft(t *testing.T) {
	for _, policy := range []sluice.OnOutside{sluice.StopOnChange, sluice.ReassertChange, sluice.AdoptChange} {
		stagetest.RunByName(t, stagetest.Named{}, func(b *stagetest.NameBench) {
			ran := b.RunBeside(b.Engine, b.Start(stagetest.AddLines(b.NamedFiles("sim/api:v2", namedWait),
				"sluice.yaml", "onOutsideChange: "+string(policy)+"\n")))
			b.Until("the wait", func() bool { return strings.Contains(b.EventLog(), "10m0s to pass") })
			registerInstance(b, "by-hand", "10.255.255.1")
			stagetest.Must(b, b.Clock.Sleep(context.Background(), time.Minute))
			if !strings.Contains(b.EventLog(),
				"instance by-hand under api.shop.local was not registered by ECS or sluice") {
				b.Errorf("%s: nobody is told\n%s", policy, b.EventLog())
			}
			b.Until("it is over", func() bool { return ran.Done })
			if ran.Outcome != sluice.Succeeded || b.Found() != "5 primary, 0 canary" {
				b.Errorf("%s: %s: %s; %s", policy, ran.Outcome, ran.Cause, b.Found())
			}
		})
	}
}

// While a wait lasts, the share is held as tasks of the canary die and come again.
func TestNamedShareIsHeldDuringAWait(t *testing.T) {
	stagetest.RunByName(t, stagetest.Named{}, func(b *stagetest.NameBench) {
		ran := b.RunBeside(b.Engine, b.Start(b.NamedFiles("sim/api:v2", namedWait)))
		b.Until("the wait", func() bool { return strings.Contains(b.EventLog(), "10m0s to pass") })
		stagetest.Must(b, b.Clock.Sleep(context.Background(), time.Minute))
		dies := instanceIDs(b, true)[0]
		stagetest.Got(b.ECS.StopTask(context.Background(), &awsecs.StopTaskInput{Cluster: aws.String("prod"),
			Task: aws.String(dies[strings.LastIndex(dies, "-")+1:])}))(b)
		stagetest.Must(b, b.Clock.Sleep(context.Background(), 3*time.Minute))
		if now := instanceIDs(b, true); b.Found() != "3 primary, 1 canary" || now[0] == dies {
			b.Errorf("%s, %v\n%s", b.Found(), now, b.EventLog())
		}
		b.Until("it is over", func() bool { return ran.Done })
		if ran.Outcome != sluice.Succeeded || strings.Contains(b.EventLog(), "not read while waiting") {
			b.Errorf("%s: %s\n%s", ran.Outcome, ran.Cause, b.EventLog())
		}
	})
}

// A canary service that is found by a name is scaled by somebody: what is stopped for
// it again is out of the name, and forgotten, before.
func TestNamedCanaryServiceScaledByOthers(t *testing.T) {
	for count, soon := range map[int32]string{4: "3 primary, 1 canary", 1: "3 primary, 1 canary"} {
		stagetest.RunByName(t, stagetest.Named{Controller: "ECS", Image: "?term=80s"}, func(b *stagetest.NameBench) {
			ctx := context.Background()
			ran := b.RunBeside(b.Engine, b.Start(stagetest.AddLines(b.NamedFiles("sim/api:v2", namedWait),
				"sluice.yaml", "onOutsideChange: reassert\n")))
			b.Until("the wait", func() bool { return strings.Contains(b.EventLog(), "10m0s to pass") })
			stagetest.Got(b.ECS.UpdateService(ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("prod"),
				Service: aws.String("api-canary"), DesiredCount: aws.Int32(count)}))(b)
			stagetest.Must(b, b.Clock.Sleep(ctx, 4*time.Minute))
			now := stagetest.Got(b.ECS.DescribeServices(ctx, &awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
				Services: []string{"api-canary"}}))(b).Services[0]
			if now.DesiredCount != 2 || b.Found() != soon {
				b.Errorf("%d: %d tasks, %s\n%s", count, now.DesiredCount, b.Found(), b.EventLog())
			}
			b.Until("it is over", func() bool { return ran.Done })
			if ran.Outcome != sluice.Succeeded {
				b.Errorf("%d: %s: %s\n%s", count, ran.Outcome, ran.Cause, b.EventLog())
			}
			if count > 2 { // somebody's own scaling in waits for no caller
				b.ExpectNobodyLost()
			}
		})
	}
}
