package engine_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
)

// fiveMinutes is the canary pipeline with time to look at the canary.
var fiveMinutes = strings.Replace(canaryPipeline, `canary: 50}}
`, `canary: 50}}
    - {name: WAIT, with: {duration: 100s}}
`, 1)

// BenchmarkPipeline is deployments of the canary pipeline from the empty world
// to the last write, in worlds with AWS's delays, each in virtual time of its
// own, on all processors; and what they are in AWS's time.
func BenchmarkPipeline(b *testing.B) {
	var lasted atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		for seed := uint64(1); pb.Next(); seed++ {
			on(b, options{Seed: seed}, func(w *bench) {
				id := w.Start(w.Files("sim/web:v2", fiveMinutes))
				began := w.Clock.Now()
				end := got(w.Engine.Run(context.Background(), id, engine.Options{}))(w)
				if end.Outcome != sluice.Succeeded {
					w.Errorf("%s: %s", end.Outcome, end.Cause)
				}
				lasted.Add(int64(w.Clock.Now().Sub(began)))
			})
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Minutes(), "pipelines/min")
	b.ReportMetric(time.Duration(lasted.Load()/int64(b.N)).Minutes(), "virtual-min/op")
}

// BenchmarkOwnTime is a deployment, plan included, where AWS takes no time: what
// is left is sluice's own computing, the journal's and the simulator's. own-waits
// is how long it waits of itself, in its clock's time: for weights to reach every
// node, for its claim to settle, between looks.
func BenchmarkOwnTime(b *testing.B) {
	none := world.NoDelays()
	var computing, waiting time.Duration
	for b.Loop() {
		on(b, options{Settings: &none, Codec: true}, func(w *bench) {
			files := w.Files("sim/web:v2", canaryPipeline)
			virtual, began := w.Clock.Now(), time.Now()
			p := got(w.Plan(files, mode.Options{}))(w)
			id := got(w.Engine.Start(context.Background(), p, engine.TriggerManual))(w)
			end := got(w.Engine.Run(context.Background(), id, engine.Options{}))(w)
			computing += time.Since(began)
			waiting += w.Clock.Now().Sub(virtual)
			if end.Outcome != sluice.Succeeded {
				w.Errorf("%s: %s", end.Outcome, end.Cause)
			}
		})
	}
	b.ReportMetric(computing.Seconds()*1000/float64(b.N), "own-ms/op")
	b.ReportMetric(waiting.Seconds()/float64(b.N), "own-waits-s/op")
}
