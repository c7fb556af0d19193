package ecs_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/ecs"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/awssim/world/worldtest"
)

// program is a user who calls at random.
type program struct {
	b    *worldtest.Harness
	room *ecs.Service
	ctx  context.Context
	r    *rand.Rand
	sets []string
}

var images = []string{"sim/web:v1", "sim/web:v2-crash-after-40s", "sim/web:v3-never-healthy", "sim/web:v4-noboot",
	"sim/web:v5-term-10s",
	"sim/web:v6-ignores-term", "sim/web:v7-start-delay-30s", "sim/missing:v1-noboot",
	"sim/web:v8-oom-after-3s", "sim/web:v9-listen-9090", "sim/web:v10-no-role", "sim/web:v11-latency-50ms",
	"sim/web:v12"}

func (p *program) pick(n int) int   { return p.r.IntN(n) }
func (p *program) service() *string { return aws.String([]string{"ext", "roll", "ext2"}[p.pick(3)]) }
func (p *program) definition() *string {
	return aws.String(fmt.Sprintf("api:%d", 1+p.pick(len(images))))
}
func (p *program) group() string { return []string{"blue", "green"}[p.pick(2)] }
func (p *program) arn(name string) string {
	return "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/" + name + "/0123456789abcdef"
}

func (p *program) anySet() *string {
	if len(p.sets) == 0 {
		return aws.String("ecs-svc/1")
	}
	return &p.sets[p.pick(len(p.sets))]
}

// step makes one call; refusals are part of the program.
func (p *program) step() {
	web := aws.String("web")
	switch p.pick(20) {
	case 0:
		name := *p.service()
		if name == "roll" {
			in := rollingInput(*p.definition(), int32(p.pick(5)), p.arn(p.group()))
			in.ServiceName = &name
			_, _ = p.room.CreateService(p.ctx, in)
			return
		}
		in := externalInput(int32(p.pick(6)))
		in.ServiceName = &name
		_, _ = p.room.CreateService(p.ctx, in)
	case 1, 2, 3:
		in := setInput(*p.definition(), p.arn(p.group()), float64(p.pick(101)))
		in.Service = p.service()
		if out, err := p.room.CreateTaskSet(p.ctx, in); err == nil {
			p.sets = append(p.sets, *out.TaskSet.Id)
		}
	case 4, 5:
		_, _ = p.room.UpdateTaskSet(p.ctx, &awsecs.UpdateTaskSetInput{Cluster: web, Service: p.service(),
			TaskSet: p.anySet(),
			Scale:   &ecstypes.Scale{Unit: "PERCENT", Value: float64(p.pick(101))}})
	case 6:
		_, _ = p.room.DeleteTaskSet(p.ctx, &awsecs.DeleteTaskSetInput{Cluster: web, Service: p.service(),
			TaskSet: p.anySet(), Force: aws.Bool(p.pick(2) == 0)})
	case 7:
		_, _ = p.room.UpdateServicePrimaryTaskSet(p.ctx, &awsecs.UpdateServicePrimaryTaskSetInput{Cluster: web,
			Service: p.service(), PrimaryTaskSet: p.anySet()})
	case 8:
		_, _ = p.room.UpdateService(p.ctx, &awsecs.UpdateServiceInput{Cluster: web, Service: p.service(),
			DesiredCount:                  aws.Int32(int32(p.pick(8))),
			HealthCheckGracePeriodSeconds: aws.Int32(int32(p.pick(60)))})
	case 9:
		_, _ = p.room.UpdateService(p.ctx, &awsecs.UpdateServiceInput{Cluster: web, Service: aws.String("roll"),
			TaskDefinition: p.definition(), ForceNewDeployment: true})
	case 10:
		if p.pick(4) == 0 {
			_, _ = p.room.DeleteService(p.ctx, &awsecs.DeleteServiceInput{Cluster: web, Service: p.service(),
				Force: aws.Bool(true)})
		}
	case 11:
		_, _ = p.room.RunTask(p.ctx, &awsecs.RunTaskInput{Cluster: web, TaskDefinition: p.definition(),
			LaunchType: "FARGATE", NetworkConfiguration: network()})
	case 12:
		p.stopOne()
	case 13:
		p.crashOne()
	case 14:
		p.b.Do(func(tx *world.Tx) {
			tx.ActiveFaults.ZonesLost = map[string]bool{[]string{"eu-west-1a", "none"}[p.pick(2)]: true}
			tx.ActiveFaults.NoCapacity = map[string]bool{[]string{"web", "none"}[p.pick(2)]: true}
			tx.Changed(world.FaultsChanged, nil)
		})
	case 15:
		p.observe()
	case 16:
		p.configure()
	case 17:
		p.stopRollout()
	case 18:
		p.b.Do(func(tx *world.Tx) {
			if a, ok := tx.Alarms.Get("5xx"); ok {
				tx.SetAlarm(a, []string{"OK", "ALARM", "INSUFFICIENT_DATA"}[p.pick(3)], "", "")
			}
		})
	case 19:
		to := ecstypes.DeploymentController{Type: []ecstypes.DeploymentControllerType{"ECS", "EXTERNAL"}[p.pick(2)]}
		_, _ = p.room.UpdateService(p.ctx, &awsecs.UpdateServiceInput{Cluster: web, Service: p.service(),
			DeploymentController: &to})
	}
}

// configure changes how the deployments of a service are judged.
func (p *program) configure() {
	c := &ecstypes.DeploymentConfiguration{
		MinimumHealthyPercent: aws.Int32(int32(25 * p.pick(4))), MaximumPercent: aws.Int32(int32(125 + 25*p.pick(4))),
		DeploymentCircuitBreaker: &ecstypes.DeploymentCircuitBreaker{Enable: p.pick(3) > 0, Rollback: p.pick(3) > 0,
			ResetOnHealthyTask: aws.Bool(p.pick(2) == 0)},
		Alarms: &ecstypes.DeploymentAlarms{Enable: p.pick(2) == 0, Rollback: p.pick(2) == 0,
			AlarmNames: []string{"5xx"}},
		BakeTimeInMinutes: aws.Int32(int32(p.pick(3))),
	}
	if p.pick(3) == 0 {
		c.EarlySuccessCriteria = &ecstypes.DeploymentEarlySuccessCriteria{Enable: true, HealthyPercent: aws.Int32(80),
			SourceServiceRevisionCleanup: []ecstypes.ServiceRevisionCleanup{"BLOCKING", "DEFERRED"}[p.pick(2)]}
	}
	_, _ = p.room.UpdateService(p.ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("web"), Service: p.service(),
		DeploymentConfiguration: c})
}

func (p *program) stopRollout() {
	out, err := p.room.ListServiceDeployments(p.ctx, &awsecs.ListServiceDeploymentsInput{Cluster: aws.String("web"),
		Service: aws.String("roll")})
	if err == nil && len(out.ServiceDeployments) > 0 {
		_, _ = p.room.StopServiceDeployment(p.ctx,
			&awsecs.StopServiceDeploymentInput{ServiceDeploymentArn: out.ServiceDeployments[0].ServiceDeploymentArn})
	}
}

func (p *program) live() (all []*world.Task) {
	p.b.Do(func(tx *world.Tx) {
		for _, t := range tx.Tasks.All() {
			if t.LastStatus != "STOPPED" {
				all = append(all, t)
			}
		}
	})
	return all
}

func (p *program) stopOne() {
	if all := p.live(); len(all) > 0 {
		_, _ = p.room.StopTask(p.ctx, &awsecs.StopTaskInput{Cluster: aws.String("web"),
			Task: &all[p.pick(len(all))].ARN})
	}
}

func (p *program) crashOne() {
	if all := p.live(); len(all) > 0 {
		t := all[p.pick(len(all))]
		p.b.Do(func(tx *world.Tx) { p.room.Scheduler().CrashTask(tx, t, 9) })
	}
}

// observe reads everything: what is read must not disturb.
func (p *program) observe() {
	web := aws.String("web")
	_, _ = p.room.DescribeServices(p.ctx, &awsecs.DescribeServicesInput{Cluster: web,
		Services: []string{"ext", "ext2", "roll", "none"}})
	if out, err := p.room.ListTasks(p.ctx, &awsecs.ListTasksInput{Cluster: web}); err == nil && len(out.TaskArns) > 0 {
		_, _ = p.room.DescribeTasks(p.ctx, &awsecs.DescribeTasksInput{Cluster: web, Tasks: out.TaskArns})
	}
	if out, err := p.room.ListServiceDeployments(p.ctx, &awsecs.ListServiceDeploymentsInput{Cluster: web,
		Service: aws.String("roll")}); err == nil {
		for _, d := range out.ServiceDeployments {
			_, _ = p.room.DescribeServiceDeployments(p.ctx,
				&awsecs.DescribeServiceDeploymentsInput{ServiceDeploymentArns: []string{*d.ServiceDeploymentArn}})
			_, _ = p.room.DescribeServiceRevisions(p.ctx,
				&awsecs.DescribeServiceRevisionsInput{ServiceRevisionArns: []string{*d.TargetServiceRevisionArn}})
		}
	}
	_, _ = p.room.DescribeClusters(p.ctx, &awsecs.DescribeClustersInput{Clusters: []string{"web"}})
}

// play runs a program of n calls and returns the world's log.
func play(t *testing.T, seed uint64, n int) string {
	b := worldtest.NewHarness(world.Options{Seed: seed})
	p := &program{b: b, room: ecs.New(b.World), ctx: world.WithKey(t.Context(), worldtest.Key),
		r: rand.New(rand.NewPCG(seed, 1))}
	b.AddGroup("blue")
	b.AddGroup("green")
	if _, err := p.room.CreateCluster(p.ctx, &awsecs.CreateClusterInput{ClusterName: aws.String("web")}); err != nil {
		t.Fatal(err)
	}
	b.Do(func(tx *world.Tx) { tx.AddAlarm(&world.Alarm{Name: "5xx", Period: time.Minute, EvaluationPeriods: 1}) })
	for _, image := range images {
		if _, err := p.room.RegisterTaskDefinition(p.ctx, fargate("api", image)); err != nil {
			t.Fatal(err)
		}
	}
	for range n {
		p.step()
		b.Run(time.Duration(p.r.Int64N(int64(40 * time.Second))))
	}
	return b.Log()
}

// The checks of a strict world look at every step of these programs, too.
func TestTheSameSeedAndCallsGiveTheSameLog(t *testing.T) {
	for seed := range uint64(12) {
		one, two := play(t, seed, 500), play(t, seed, 500)
		if one != two {
			t.Fatalf("seed %d: the logs differ", seed)
		}
		if len(one) < 100_000 {
			t.Errorf("seed %d: little happened: %d bytes", seed, len(one))
		}
	}
	if play(t, 1, 50) == play(t, 2, 50) {
		t.Error("two seeds, one log")
	}
}
