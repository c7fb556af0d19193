package rolling_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// ECS rolls the service, and the tasks bake for half an hour. Another person takes the requests from the service and gives
// them back: sluice tells it within 145 s, and the end is a success.
func TestRuleThatIsLostDuringTheBakeIsTold(t *testing.T) {
	for name, bakes := range map[string]struct{ service, application string }{
		"of ECS":    {"deploymentConfiguration: {bakeTimeInMinutes: 30}\n", ""},
		"of sluice": {stagetest.Breaker, "bake: 30m\n"},
	} {
		t.Run(name, func(t *testing.T) {
			stagetest.RunRolling(t, func(b *stagetest.Bench) {
				var lost time.Time
				b.Clock.Go(func() {
					b.Until("v2 runs", func() bool {
						return strings.Contains(b.RollingState(), "v2 ") && !strings.Contains(b.RollingState(), "v1")
					})
					b.Sleep(5 * time.Minute)
					lost = b.Clock.Now()
					b.SetRule(0, 100)
					b.Sleep(5 * time.Minute)
					b.SetRule(100, 0)
				})
				files := stagetest.AddLines(b.RollingFiles("sim/web:v2", bakes.service), "sluice.yaml", bakes.application)
				end := b.Deploy(files)
				told := time.Duration(-1)
				for _, e := range b.Events {
					if w, ok := e.Open().(sluice.Waiting); ok && w.For == "callers to reach web:2" &&
						strings.Contains(w.Detail, "sends no requests to the service any more") && told < 0 {
						told = e.At.Sub(lost)
					}
				}
				if got := b.CallersGet(); end.Outcome != sluice.Succeeded || got != "v2 200" {
					t.Errorf("%s: %s; callers get %q, want a success and v2\n%s", end.Outcome, end.Cause, got, b.EventLog())
				}
				if told < 0 || told > 145*time.Second {
					t.Errorf("told after %s, want at most 145 s\n%s", told, b.EventLog())
				}
			})
		})
	}
}
