package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/clock"
)

// clock is the time that this run goes by, and whether it is a scaled one that
// needs a loopback endpoint. It is the same in all of one run.
func (p *program) clock() (c clock.Clock, scaled bool, err error) {
	switch text := p.env.Getenv("SLUICE_SPEED"); {
	case p.time != nil:
		return p.time, p.scaled, nil
	case p.env.Clock != nil:
		p.time = p.env.Clock
	case text == "" || text == "1":
		p.time = clock.Real()
	default:
		p.time, err = p.fast(text)
		p.scaled = true
	}
	return p.time, p.scaled, err
}

// fast is a scaled clock. It is set by the local AWS, so that all runs and AWS
// itself have one time: a clock that began anew with each run would go back
// behind what an earlier run wrote down.
func (p *program) fast(text string) (clock.Clock, error) {
	speed, err := strconv.ParseFloat(text, 64)
	if err != nil || !(speed > 0) || math.IsInf(speed, 0) {
		return nil, &sluice.Error{Op: "read SLUICE_SPEED", Err: fmt.Errorf("%q is not a number above 0", text), Next: "unset SLUICE_SPEED"}
	}
	c := clock.Scaled(speed)
	if now, ok := p.simTime(); ok {
		return set{c, now.Sub(c.Now())}, nil
	}
	return c, nil
}

// set is a clock that was set to another time.
type set struct {
	clock.Clock
	by time.Duration
}

func (s set) Now() time.Time { return s.Clock.Now().Add(s.by) }

// askTime is how long the local AWS may take to tell the time.
const askTime = 2 * time.Second

// simTime asks the local AWS what time it is; false if there is none.
func (p *program) simTime() (now time.Time, ok bool) {
	endpoint := p.flags.endpoint
	if endpoint == "" {
		endpoint = p.env.Getenv("AWS_ENDPOINT_URL")
	}
	if !account.IsLoopback(endpoint) {
		return now, false
	}
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(endpoint, "/")+"/_sluice/world", nil)
	if err != nil {
		return now, false
	}
	do := http.DefaultClient.Do
	if p.env.HTTPClient != nil {
		do = p.env.HTTPClient.Do
	}
	resp, err := do(r)
	if err != nil {
		return now, false
	}
	defer resp.Body.Close()
	var world struct{ Now time.Time }
	err = json.NewDecoder(resp.Body).Decode(&world)
	return world.Now, err == nil && !world.Now.IsZero()
}
