package local

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/awssim/image"
)

// brokenImages maps each value of --break without a size to its image.
var brokenImages = map[string]string{
	"crash":     "sim/web:v2-crash-after-2s",
	"unhealthy": "sim/web:v2-never-healthy",
	"noboot":    "sim/web:v2-noboot",
}

// isDegraded reports whether version 2 gets healthy and then answers badly: with errors, or slowly.
// Health checks do not detect it, so callers get its answers.
func (d *demo) isDegraded() bool { return strings.Contains(d.brokenBy, "=") }

// brokenImage returns the image of version 2 with --break.
func (d *demo) brokenImage() (string, error) {
	if known, ok := brokenImages[d.brokenBy]; ok {
		return known, nil
	}
	kind, size, _ := strings.Cut(d.brokenBy, "=")
	switch kind {
	case "errors":
		return brokenByErrors(size)
	case "slow":
		return d.brokenByLatency(size)
	}
	return "", fmt.Errorf("it must be one of %s, errors=2%%, slow=800ms",
		strings.Join(slices.Sorted(maps.Keys(brokenImages)), ", "))
}

func brokenByErrors(share string) (string, error) {
	var does image.Behaviour
	if err := does.Set("errors", share); err != nil {
		return "", err
	}
	if does.ErrorRate == 0 {
		return "", errors.New("it must be more than 0")
	}
	return "sim/web:v2?errors=" + share, nil
}

// gateDuration is how long the gate of a degraded version judges at most, in AWS's time.
const gateDuration = 15 * time.Minute

// addGate gives the first WAIT of an application file a gate that detects the degraded version: errors, or
// requests that take more than half of its latency. If the gate has no verdict, the release continues.
func (d *demo) addGate(file []byte) []byte {
	signal := "errors"
	if kind, size, _ := strings.Cut(d.brokenBy, "="); kind == "slow" {
		latency, _ := time.ParseDuration(size)
		signal = "slower than " + (time.Duration(float64(latency)*d.speed) / 2).Round(time.Millisecond).String()
	}
	gate := fmt.Sprintf("duration: %s, gates: [{signal: %s, worse: 1.5, onUndecided: pass}]", gateDuration, signal)
	at := durationPattern.FindIndex(file)
	if at == nil {
		return file
	}
	return slices.Concat(file[:at[0]], []byte(gate), file[at[1]:])
}

// brokenByLatency returns an image that is slow for callers. Requests run in the machine's time, the
// latency of an image in AWS's.
func (d *demo) brokenByLatency(text string) (string, error) {
	latency, err := time.ParseDuration(text)
	if err != nil || latency <= 0 {
		return "", fmt.Errorf("%q is not a time such as 800ms", text)
	}
	return fmt.Sprintf("sim/web:v2?latency=%s&check-latency=1ms", time.Duration(float64(latency)*d.speed)), nil
}
