package stage_test

import (
	"context"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/awssim/loadgen"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// callNetwork attaches callers to the Network Load Balancer of the example. They open 100
// connections a second and keep each for ten seconds.
func (d *deployment) callNetwork() *loadgen.Tally {
	d.Helper()
	key := world.Key{Account: "123456789012", Region: "us-east-1"}
	return loadgen.Attach(d.sim.World(), d.sim.Balancer(), loadgen.Caller{Key: key, Balancer: networkBalancer, Port: 80,
		Rate: 100, Hold: 10 * time.Second})
}

const networkBalancer = "arn:aws:elasticloadbalancing:us-east-1:123456789012:loadbalancer/net/web/0123456789abcdef"

// setSpread sets how long a change of weights takes to reach a node of the load balancer.
func (d *deployment) setSpread(most time.Duration) {
	d.Helper()
	check(d.T, d.sim.World().Do(world.Key{Account: "123456789012", Region: "us-east-1"}, func(tx *world.Tx) error {
		tx.Settings().NetworkWeightPropagation = world.Range{Min: most, Max: most}
		return nil
	}))
}

// A canary behind a Network Load Balancer loses no connection, there and back from each stage.
func TestNetworkLoadBalancerLosesNoConnection(t *testing.T) {
	last := 0
	for stop := 0; stop <= last; stop++ {
		deployExample(t, "nlb", func(d *deployment) {
			last = len(d.plan.Stages) // the whole pipeline, without a rollback
			calls := d.callNetwork()
			stages := d.plan.Stages
			if stop < last {
				stages = append(append([]plan.Stage{}, stages[:stop+1]...), d.plan.Rollback)
			}
			check(t, d.run(stages...))
			check(t, d.clock.Sleep(context.Background(), 20*time.Minute))
			r := calls.Report()
			if r.Failed > 1e-6 || r.Requests < 50_000 {
				t.Errorf("after stage %d: %.1f of %.0f connections were lost: %+v", stop+1, r.Failed, r.Requests,
					r.First)
			}
			if stop > 0 && r.AnsweredBy("v2") < 1000 {
				t.Errorf("after stage %d: v2 got %.0f connections", stop+1, r.AnsweredBy("v2"))
			}
		})
	}
}

// Without the wait, connections are lost: here the nodes take longer than sluice waits.
func TestShorterWaitThanTheSpreadLosesConnections(t *testing.T) {
	deployExample(t, "nlb", func(d *deployment) {
		d.setSpread(d.plan.ShiftPropagation() + 10*time.Minute)
		calls := d.callNetwork()
		check(t, d.run(d.plan.Stages...))
		check(t, d.clock.Sleep(context.Background(), 30*time.Minute))
		if r := calls.Report(); r.Failed < 100 {
			t.Errorf("%.1f of %.0f connections were lost", r.Failed, r.Requests)
		}
	})
}

// A shift ends only when every node sends connections by the new weights.
func TestShiftEndsWhenEveryNodeFollows(t *testing.T) {
	deployExample(t, "nlb", func(d *deployment) {
		calls := d.callNetwork()
		for _, s := range d.plan.Stages {
			check(t, d.run(s))
			if s.Weights == nil {
				continue
			}
			h := calls.Report().History
			got := map[string]float64{}
			for _, v := range h[len(h)-1].Shares {
				got[v.Group] += v.Share
			}
			want := float64(s.Weights.Canary()) / 100
			if share := got[d.plan.Canary.ARN]; share < want-1e-6 || share > want+1e-6 {
				t.Errorf("stage %d: %.3f of the connections go to the canary, want %.2f", s.Index+1, share, want)
			}
		}
	})
}

// The nodes of an Application Load Balancer take up new weights as late as sluice allows, and ECS stops tasks at once: no
// capacity goes before every node knows the weights.
func TestLateNodesLoseNoRequest(t *testing.T) {
	deployExample(t, "canary", func(d *deployment) {
		key, late := world.Key{Account: "123456789012", Region: "us-east-1"}, d.plan.ShiftPropagation()
		check(t, d.sim.World().Do(key, func(tx *world.Tx) error {
			tx.Settings().WeightPropagation = world.Range{Min: late, Max: late}
			tx.Settings().SchedulerLoop = world.Range{}
			return nil
		}))
		calls := loadgen.Attach(d.sim.World(), d.sim.Balancer(), loadgen.Caller{Key: key, Port: 80, Rate: 100,
			Balancer: "arn:aws:elasticloadbalancing:us-east-1:123456789012:loadbalancer/app/web/0123456789abcdef"})
		check(t, d.run(d.plan.Stages...))
		check(t, d.clock.Sleep(context.Background(), 5*time.Minute))
		if r := calls.Report(); r.Failed > 1e-6 || r.Requests < 10_000 || r.AnsweredBy("v2") < 1000 {
			t.Errorf("%.1f of %.0f requests were lost: %+v", r.Failed, r.Requests, r.First)
		}
	})
}
