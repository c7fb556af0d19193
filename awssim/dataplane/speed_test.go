package dataplane_test

import (
	"io"
	"net/http"
	"sync/atomic"
	"testing"
)

// BenchmarkForward is requests through one listener over keep-alive connections,
// with client, load balancer and targets on the same processors.
func BenchmarkForward(b *testing.B) {
	w := newBench(b)
	g := w.group("web", 0)
	l := w.listen(80, forward(share(g, 1)))
	w.register(g, w.task("sim/web:v1"), w.task("sim/web:v1"))
	var bad atomic.Int64
	b.ReportAllocs()
	b.SetParallelism(8)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			res, err := w.client.Get("http://" + l.Bound + "/")
			if err != nil {
				bad.Add(1)
				continue
			}
			_, _ = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
			if res.StatusCode != http.StatusOK {
				bad.Add(1)
			}
		}
	})
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
	if bad.Load() > 0 {
		b.Errorf("%d of %d failed", bad.Load(), b.N)
	}
}
