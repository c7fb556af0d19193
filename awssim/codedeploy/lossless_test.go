package codedeploy_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscd "github.com/aws/aws-sdk-go-v2/service/codedeploy"
	cdtypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"

	"github.com/sluice-ecs/sluice/awssim/loadbalancer"
	"github.com/sluice-ecs/sluice/awssim/loadgen"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// call lets 300 requests a second come in at the production listener.
func (b *bench) call() *loadgen.Tally {
	lb := b.sim.View().Regions[0].LoadBalancers[0].ARN
	return loadgen.Attach(b.sim.World(), b.sim.Balancer(),
		loadgen.Caller{Key: world.Key{Account: "123456789012", Region: "us-east-1"},
			Balancer: lb, Port: 80, Rate: 300, Request: loadbalancer.Request{Method: "GET", Path: "/"}})
}

// Callers lose nothing, however the traffic is shifted, and neither if it is
// brought back half way.
func TestCallersLoseNothing(t *testing.T) {
	for _, c := range []struct {
		config   string
		stopAt   int32 // percent at which it is stopped with rollback; 0: never
		hooks    []string
		versions float64 // least share of v2 among the requests
	}{
		{config: "CodeDeployDefault.ECSAllAtOnce", versions: 0.2},
		{config: "CodeDeployDefault.ECSCanary10Percent5Minutes", versions: 0.1},
		{config: "CodeDeployDefault.ECSLinear10PercentEvery1Minutes", versions: 0.2},
		{config: "half", stopAt: 50, versions: 0.01},
		{config: "thirds", stopAt: 100},
		{config: "CodeDeployDefault.ECSAllAtOnce", stopAt: 100},
		{config: "half", hooks: []string{"AfterAllowTraffic", "refuse"}},
	} {
		for seed := range uint64(20) {
			b := newBench(t, seed, onEverything+"\nterminate: 2m",
				"functions: [{name: refuse, result: fail, after: 20s}]")
			calls := b.call()
			b.pass(10 * time.Second)
			id := b.deploy("sim/web:v2?latency=20ms", c.config, c.hooks...)
			if c.stopAt > 0 {
				b.until("time to stop", func() bool { return b.weights(80)["web-b"] >= c.stopAt })
				b.pass(time.Duration(seed) * 2 * time.Second)
				_, err := b.StopDeployment(b.ctx, &awscd.StopDeploymentInput{DeploymentId: &id,
					AutoRollbackEnabled: aws.Bool(true)})
				b.ok(err)
			}
			d := b.ends(id)
			if d.RollbackInfo != nil {
				b.ends(*d.RollbackInfo.RollbackDeploymentId)
			}
			b.until("one task set", func() bool { return len(b.service().TaskSets) == 1 })
			b.pass(time.Minute)
			r := calls.Report()
			if r.Failed > 0 || r.Requests < 30_000 || r.AnsweredBy("v2") < c.versions*r.Requests {
				t.Errorf("%+v, seed %d: %v of %v lost, v2 answered %v: %+v", c, seed, r.Failed, r.Requests,
					r.AnsweredBy("v2"), r.First)
			}
			if (d.Status == cdtypes.DeploymentStatusSucceeded) != (c.stopAt == 0 && c.hooks == nil) {
				t.Errorf("%+v: %s", c, d.Status)
			}
		}
	}
}

// The same seed tells the same story.
func TestOneSeedOneStory(t *testing.T) {
	story := func() string {
		b := newBench(t, 7, onEverything, "functions: [{name: refuse, result: fail, after: 20s}]")
		b.ends(b.deploy("sim/web:v2", "half", "AfterAllowTraffic", "refuse"))
		b.pass(10 * time.Minute)
		text := ""
		for _, e := range b.sim.World().Entries() {
			text += e.String() + "\n"
		}
		return text
	}
	if a, b := story(), story(); a != b {
		t.Error("two runs differ")
	}
}
