package loadbalancer_test

import (
	"sync"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/awssim/loadbalancer"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// Sockets decide by tables while the world goes on changing.
func TestTablesAreReadWithoutTheWorld(t *testing.T) {
	b := newBench(t, nil)
	one, two := b.group("one"), b.group("two")
	l := b.listen(80, share(one, 1), share(two, 1))
	b.register(one, b.task("sim/web:v1"), b.task("sim/web:v1"))
	b.register(two, b.task("sim/web:v2"))
	law, arn, at := b.law, b.lb.ARN, b.now
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			r := get("a.test", "/")
			r.At = at
			for i := range 2000 {
				d := law.Table(key, arn).Decide(80, r, loadbalancer.Random{Group: float64(i%100) / 100,
					Target: loadbalancer.InTurn})
				if d.Kind != loadbalancer.Forward {
					t.Errorf("%s: %s", d.Kind, d.Reason)
					return
				}
			}
		})
	}
	for i := range int32(200) {
		b.do(func(tx *world.Tx) { tx.SetActions(l.Default(), forward(share(one, 100+i), share(two, 300-i))) })
		b.pass(time.Second)
	}
	readers.Wait()
}
