package loadgen_test

import (
	"math"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/awssim/loadgen"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// networkBench is a bench whose callers open connections.
func networkBench(t *testing.T) *bench {
	b := newBench(t)
	b.lb.Type = "network"
	return b
}

// hold opens 10 connections a second and keeps each for that time.
func (b *bench) hold(d time.Duration) *loadgen.Tally {
	return loadgen.Attach(b.w, b.law, loadgen.Caller{Key: key, Balancer: b.lb.ARN, Port: 80, Rate: 10, Hold: d})
}

func lost(r loadgen.Report) float64 { return math.Round(r.Failed*1e6) / 1e6 }

// Connections stay at their target after a shift; they are lost only if the target goes.
func TestConnectionsOutliveAShift(t *testing.T) {
	b := networkBench(t)
	web, canary := b.group("web"), b.group("canary")
	b.weigh(web, 100, canary, 0)
	task := b.start(web, "sim/web:v1")
	b.start(canary, "sim/web:v2")
	calls := b.hold(30 * time.Second)
	b.pass(time.Minute)
	b.weigh(web, 0, canary, 100)
	b.pass(20 * time.Second)
	if n := lost(calls.Report()); n != 0 {
		t.Errorf("%v connections are lost", n)
	}
	b.end(task, true)
	b.pass(time.Minute)
	if n := lost(calls.Report()); n != 100 { // of the last 10 s before the shift
		t.Errorf("%v connections are lost, want 100: %+v", n, calls.Report().First)
	}
}

// A node closes the connections to a group some time after the group's weight is 0.
func TestConnectionsCloseAtWeightZero(t *testing.T) {
	b := networkBench(t)
	b.do(func(tx *world.Tx) {
		tx.Settings().NetworkConnectionClose = world.Range{Min: 20 * time.Second, Max: 20 * time.Second}
	})
	web, canary := b.group("web"), b.group("canary")
	b.weigh(web, 100, canary, 0)
	b.start(web, "sim/web:v1")
	b.start(canary, "sim/web:v2")
	short, long := b.hold(15*time.Second), b.hold(30*time.Second)
	b.pass(time.Minute)
	b.weigh(web, 0, canary, 100)
	b.pass(time.Minute)
	if s, l := lost(short.Report()), lost(long.Report()); s != 0 || l != 100 {
		t.Errorf("%v and %v connections are lost, want 0 and 100", s, l)
	}
}
