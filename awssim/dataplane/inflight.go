package dataplane

import (
	"sync"
	"sync/atomic"
)

// inFlightSet holds the requests in flight to targets.
type inFlightSet struct {
	next   atomic.Uint32
	shards [16]struct {
		mu sync.Mutex
		in map[*inFlight]struct{}
	}
}

func (fs *inFlightSet) addRequest(fl *inFlight) {
	fl.shard = int(fs.next.Add(1) % uint32(len(fs.shards)))
	s := &fs.shards[fl.shard]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.in == nil {
		s.in = map[*inFlight]struct{}{}
	}
	s.in[fl] = struct{}{}
}

func (fs *inFlightSet) removeRequest(fl *inFlight) {
	s := &fs.shards[fl.shard]
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.in, fl)
}

// cancelIdleSince cancels the requests without a byte since that time.
func (fs *inFlightSet) cancelIdleSince(nano int64) {
	for i := range fs.shards {
		s := &fs.shards[i]
		s.mu.Lock()
		for fl := range s.in {
			if fl.last.Load() <= nano {
				fl.cancel(errIdle)
			}
		}
		s.mu.Unlock()
	}
}

// sweepIdle cancels idle requests. It checks twelve times per idle timeout, by the clock.
func (fs *listenerSockets) sweepIdle() {
	for fs.plane.clock.Sleep(fs.plane.ctx, idleTimeout/12) == nil {
		fs.inFlight.cancelIdleSince(fs.plane.clock.Now().Add(-idleTimeout).UnixNano())
	}
}

func (fs *inFlightSet) len() (n int) {
	for i := range fs.shards {
		s := &fs.shards[i]
		s.mu.Lock()
		n += len(s.in)
		s.mu.Unlock()
	}
	return n
}
