package account

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/clock"
)

// ProcessClock returns the machine's time, or with SLUICE_SPEED a faster clock that follows the local
// AWS's clock. A restarted plugin then has the same time. If the machine is slow, neither clock
// runs ahead of the other.
func ProcessClock(getenv func(string) string) (c clock.Clock, scaled bool, err error) {
	text := getenv("SLUICE_SPEED")
	if text == "" || text == "1" {
		return clock.Real(), false, nil
	}
	speed, err := strconv.ParseFloat(text, 64)
	if err != nil || !(speed > 0) || math.IsInf(speed, 0) {
		return nil, false, &sluice.Error{Op: "read SLUICE_SPEED", Err: fmt.Errorf("%q is not a number above 0", text),
			Next: "unset SLUICE_SPEED"}
	}
	endpoint := getenv("AWS_ENDPOINT_URL")
	if !IsLoopback(endpoint) {
		return clock.Scaled(speed), true, nil
	}
	return clock.Following(speed, func() (time.Time, bool) { return readSimTime(endpoint) }), true, nil
}

// simTimeTimeout is how long the local AWS may take to return the time.
const simTimeTimeout = 2 * time.Second

// readSimTime reads the time of the local AWS; false if there is no local AWS.
func readSimTime(endpoint string) (time.Time, bool) {
	client := http.Client{Timeout: simTimeTimeout}
	resp, err := client.Get(strings.TrimSuffix(endpoint, "/") + "/_sluice/time")
	if err != nil {
		return time.Time{}, false
	}
	defer resp.Body.Close()
	var told struct{ Now time.Time }
	err = json.NewDecoder(resp.Body).Decode(&told)
	return told.Now, err == nil && !told.Now.IsZero()
}
