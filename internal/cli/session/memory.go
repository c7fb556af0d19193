package session

import (
	"runtime/metrics"
	"time"

	"github.com/sluice-ecs/sluice/internal/appfile/render"
)

// memoryLimit is the number of bytes by which the process may grow during an evaluation. Definitions of ECS need far
// less.
const memoryLimit = 512 << 20

// memoryInterval is how often memory is read. A process allocates a few 10 MB in that time.
const memoryInterval = 5 * time.Millisecond

// boundMemory returns a function that returns when evaluate has, or with an error as soon as the memory of the process
// has grown by more than limit bytes. evaluate cannot be stopped: it goes on until the command has ended.
func boundMemory(limit uint64) func(evaluate func()) error {
	return func(evaluate func()) error {
		done := make(chan struct{})
		before := memoryInUse()
		go func() {
			defer close(done)
			evaluate()
		}()
		ticker := time.NewTicker(memoryInterval)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return nil
			case <-ticker.C:
				if memoryInUse() > before+limit {
					return render.MemoryError{Limit: limit}
				}
			}
		}
	}
}

// memoryInUse returns the bytes of all objects of the process.
func memoryInUse() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
