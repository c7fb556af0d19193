package dataplane

import (
	"net/http"
	"time"
)

// waitedHeader is how long a built-in image waited before its answer, by the simulator's clock.
const waitedHeader = "X-Sim-Waited"

// responseTime returns how long a target took from the request to the header of its answer. The
// time that an image waits counts by the simulator's clock, all other time by the machine's: a
// machine does not become slower when the simulator's clock runs faster.
func (fl *inFlight) responseTime(r *http.Response) time.Duration {
	p := fl.socket.plane
	took := p.clock.Now().Sub(fl.sent)
	waited, _ := time.ParseDuration(r.Header.Get(waitedHeader))
	return waited + time.Duration(float64(max(took-waited, 0))/p.speed)
}
