package awssim_test

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/awssim/loadbalancer"
	"github.com/sluice-ecs/sluice/awssim/loadgen"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// way is one of the two in which a world is lived through: by real requests, or
// by modelled callers.
type way struct {
	t    testing.TB
	ecs  *awsecs.Client
	elb  *awselb.Client
	wait func(what string, holds func() bool)
	// measure lets users call for a while; it is the share of each version.
	measure func() map[string]float64
	// failed is the number of requests lost since the beginning, and of all.
	failed func() (lost, all float64)
}

// canary takes the example world from v1 to v2 by way of a quarter, and measures
// in each step.
func (w *way) canary() (steps []map[string]float64) {
	web, prod := aws.String("web"), aws.String("prod")
	steps = append(steps, w.measure())
	svc := w.service()
	old := svc.TaskSets[0]
	def, err := w.ecs.RegisterTaskDefinition(ctx, &awsecs.RegisterTaskDefinitionInput{
		Family: web, NetworkMode: ecstypes.NetworkModeAwsvpc,
		RequiresCompatibilities: []ecstypes.Compatibility{ecstypes.CompatibilityFargate},
		Cpu:                     aws.String("256"), Memory: aws.String("512"),
		ExecutionRoleArn: aws.String("arn:aws:iam::123456789012:role/ecsTaskExecutionRole"),
		ContainerDefinitions: []ecstypes.ContainerDefinition{{Name: web, Image: aws.String("sim/web:v2"),
			Essential:    aws.Bool(true),
			PortMappings: []ecstypes.PortMapping{{ContainerPort: aws.Int32(80)}}}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	young, err := w.ecs.CreateTaskSet(ctx, &awsecs.CreateTaskSetInput{
		Cluster: prod, Service: web, TaskDefinition: def.TaskDefinition.TaskDefinitionArn,
		LaunchType:           ecstypes.LaunchTypeFargate,
		NetworkConfiguration: old.NetworkConfiguration, Scale: &ecstypes.Scale{Unit: ecstypes.ScaleUnitPercent,
			Value: 50},
		LoadBalancers: []ecstypes.LoadBalancer{{TargetGroupArn: aws.String(canaryARN), ContainerName: web,
			ContainerPort: aws.Int32(80)}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.wait("the canary is steady", func() bool {
		for _, ts := range w.service().TaskSets {
			if *ts.Id == *young.TaskSet.Id {
				return ts.RunningCount == 2 && ts.StabilityStatus == ecstypes.StabilityStatusSteadyState
			}
		}
		return false
	})
	w.weigh(75, 25)
	steps = append(steps, w.measure())
	w.weigh(0, 100)
	steps = append(steps, w.measure())
	if _, err := w.ecs.UpdateServicePrimaryTaskSet(ctx, &awsecs.UpdateServicePrimaryTaskSetInput{Cluster: prod,
		Service: web, PrimaryTaskSet: young.TaskSet.Id}); err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.ecs.DeleteTaskSet(ctx, &awsecs.DeleteTaskSetInput{Cluster: prod, Service: web, TaskSet: old.Id,
		Force: aws.Bool(true)}); err != nil {
		w.t.Fatal(err)
	}
	w.wait("the old task set is gone", func() bool { return len(w.service().TaskSets) == 1 })
	return append(steps, w.measure())
}

func (w *way) service() ecstypes.Service {
	out, err := w.ecs.DescribeServices(ctx, &awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
		Services: []string{"web"}})
	if err != nil {
		w.t.Fatal(err)
	}
	return out.Services[0]
}

const webListener = "arn:aws:elasticloadbalancing:us-east-1:123456789012:listener/app/web/0123456789abcdef/0123456789abcdef"

// weigh writes weights and gives them the time to reach the nodes.
func (w *way) weigh(primary, canary int32) {
	_, err := w.elb.ModifyListener(ctx, &awselb.ModifyListenerInput{ListenerArn: aws.String(webListener),
		DefaultActions: []elbtypes.Action{{Type: elbtypes.ActionTypeEnumForward,
			ForwardConfig: &elbtypes.ForwardActionConfig{
				TargetGroups: []elbtypes.TargetGroupTuple{{TargetGroupArn: aws.String(primaryARN), Weight: &primary},
					{TargetGroupArn: aws.String(canaryARN), Weight: &canary}}}}}})
	if err != nil {
		w.t.Fatal(err)
	}
	polls := 0
	w.wait("a moment passes", func() bool { polls++; return polls > 3 })
}

// modelled lives through the world in virtual time.
func modelled(t testing.TB) *way {
	clock := newHands()
	s := newSim(t, awssim.Options{Clock: clock, Direct: true})
	load(t, s, string(canaryFile(t)))
	v := s.View().Regions[0]
	tally := loadgen.Attach(s.World(), s.Balancer(), loadgen.Caller{
		Key: world.Key{Account: v.Account, Region: v.Region}, Balancer: v.LoadBalancers[0].ARN, Port: 80, Rate: 200,
		Request: loadbalancer.Request{Method: "GET", Scheme: "http", Host: "web.test", Path: "/"},
	})
	w := &way{t: t, ecs: awsecs.NewFromConfig(s.Config()), elb: awselb.NewFromConfig(s.Config())}
	w.wait = func(what string, holds func() bool) {
		for range 1000 {
			clock.move(time.Second)
			if holds() {
				return
			}
		}
		t.Fatalf("never happened: %s", what)
	}
	w.measure = func() map[string]float64 {
		before := tally.Report()
		clock.move(10 * time.Second)
		s.World().Advance()
		after := tally.Report()
		shares := map[string]float64{}
		for _, version := range []string{"v1", "v2"} {
			shares[version] = (after.AnsweredBy(version) - before.AnsweredBy(version)) / (after.Requests - before.Requests)
		}
		return shares
	}
	w.failed = func() (float64, float64) { r := tally.Report(); return r.Failed, r.Requests }
	return w
}

// real lives through it by requests over sockets; users call without a break.
func real(t testing.TB) *way {
	s := newSim(t, awssim.Options{Clock: newFast(30), Speed: 30})
	load(t, s, string(canaryFile(t)))
	cfg := remote(t, s, listen(t, s))
	var lost, all atomic.Int64
	at, stop := door(t, cfg), make(chan struct{})
	users := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}, Timeout: patience}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				all.Add(1)
				if res, err := users.Get(at); err != nil {
					lost.Add(1)
				} else {
					_, _ = io.Copy(io.Discard, res.Body)
					if _ = res.Body.Close(); res.StatusCode != 200 {
						lost.Add(1)
					}
				}
			}
		})
	}
	t.Cleanup(func() { close(stop); wg.Wait(); users.CloseIdleConnections() })
	w := &way{t: t, ecs: awsecs.NewFromConfig(cfg), elb: awselb.NewFromConfig(cfg)}
	w.wait = func(what string, holds func() bool) {
		next := s.World().Now()
		until(t, what, func() bool {
			// A look per second of the world's time, as the other way has.
			if now := s.World().Now(); now.Before(next) {
				return false
			}
			next = next.Add(time.Second)
			return holds()
		})
	}
	w.measure = func() map[string]float64 {
		s.ResetTraffic()
		for n := int64(500); n <= 4000; n += 500 { // a busy machine needs longer than patience for all of them
			until(t, fmt.Sprint(n, " requests"), func() bool { return s.Traffic().Requests >= n })
		}
		tr, shares := s.Traffic(), map[string]float64{"v1": 0, "v2": 0}
		for _, r := range tr.Rows {
			shares[r.Version] += float64(r.Requests) / float64(tr.Requests)
		}
		return shares
	}
	w.failed = func() (float64, float64) { return float64(lost.Load()), float64(all.Load()) }
	return w
}

// The same world, lived through by real requests and by modelled callers, shares
// traffic alike and loses nothing either way.
func TestOneWorldTwoWays(t *testing.T) {
	one, two := modelled(t), real(t)
	virtual, sockets := one.canary(), two.canary()
	want := []map[string]float64{{"v1": 1, "v2": 0}, {"v1": .75, "v2": .25}, {"v1": 0, "v2": 1}, {"v1": 0, "v2": 1}}
	if len(virtual) != 4 || len(sockets) != 4 {
		t.Fatal(virtual, sockets)
	}
	for i := range want {
		for _, version := range []string{"v1", "v2"} {
			if math.Abs(virtual[i][version]-want[i][version]) > 1e-9 {
				t.Errorf("step %d, modelled: %v, want %v", i, virtual[i], want[i])
			}
			// Six standard deviations of 4,000 draws at 25 % are 4 points.
			if math.Abs(sockets[i][version]-want[i][version]) > .041 {
				t.Errorf("step %d, sockets: %v, want %v", i, sockets[i], want[i])
			}
		}
	}
	for name, w := range map[string]*way{"modelled": one, "sockets": two} {
		if lost, all := w.failed(); lost != 0 || all < 4000 {
			t.Errorf("%s: %v of %v requests failed", name, lost, all)
		}
	}
}
