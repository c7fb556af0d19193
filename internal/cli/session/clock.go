package session

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/clock"
)

// OpenClock returns the clock of this run, the same at each call. scaled is true for a faster
// clock, which is allowed with a loopback endpoint only.
func (s *Session) OpenClock() (c clock.Clock, scaled bool, err error) {
	switch text := s.Env.Getenv("SLUICE_SPEED"); {
	case s.time != nil:
		return s.time, s.scaled, nil
	case s.Env.Clock != nil:
		s.time = s.Env.Clock
	case text == "" || text == "1":
		s.time = clock.Real()
	default:
		s.time, err = newScaledClock(text, func() (time.Time, bool) { return s.Env.readSimTime(s.givenEndpoint()) })
		s.scaled = true
	}
	return s.time, s.scaled, err
}

// newScaledClock returns a clock that runs faster by the factor in text. The local AWS gives its
// start time, so that all runs and the local AWS share one time. A clock that started from the
// machine's time in each run would be behind the times that an earlier run has saved.
func newScaledClock(text string, readTime func() (time.Time, bool)) (clock.Clock, error) {
	speed, err := strconv.ParseFloat(text, 64)
	if err != nil || !(speed > 0) || math.IsInf(speed, 0) {
		return nil, &sluice.Error{Op: "read SLUICE_SPEED", Err: fmt.Errorf("%q is not a number above 0", text),
			Next: "unset SLUICE_SPEED"}
	}
	c := clock.Scaled(speed)
	if now, ok := readTime(); ok {
		return offsetClock{c, now.Sub(c.Now())}, nil
	}
	return c, nil
}

// offsetClock is a clock that differs from the embedded one by a fixed offset.
type offsetClock struct {
	clock.Clock
	offset time.Duration
}

func (s offsetClock) Now() time.Time { return s.Clock.Now().Add(s.offset) }

// readSimTime requests the time of the local AWS. ok is false if no local AWS responds.
func (e Env) readSimTime(endpoint string) (now time.Time, ok bool) {
	if !account.IsLoopback(endpoint) {
		return now, false
	}
	sim := e.askSim(context.Background(), endpoint)
	return sim.Now, !sim.Now.IsZero()
}
