package forecast

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// Limits of the files that end the deployment before it can be done are named with what the forecast expects.
func TestLimitsThatAreTooShort(t *testing.T) {
	const start = 27 * time.Second
	for name, c := range map[string]struct {
		timeout, stage, deadline time.Duration
		want                     string // empty: no sentence
	}{
		"none":     {6 * time.Hour, time.Hour, 10 * time.Minute, ""},
		"timeout":  {10 * time.Second, time.Hour, 10 * time.Minute, "the timeout of the deployment is 10s, and it is expected to take 1m12s"},
		"stage":    {time.Hour, 10 * time.Second, 10 * time.Minute, "the timeout of stage 1 ECS_CANARY_ROLLOUT is 10s, and it is expected to take 42s"},
		"progress": {time.Hour, time.Hour, 12 * time.Second, "progressDeadline is 12s, and tasks run 27s after their launch"},
	} {
		p := &plan.Plan{Controller: plan.ControllerExternal, Timeout: c.timeout, ProgressDeadline: c.deadline, Stages: []plan.Stage{
			{Name: appfile.StageCanaryRollout, Timeout: c.stage},
			{Index: 1, Name: appfile.StageWait, Timeout: time.Hour, Duration: 30 * time.Second}}}
		got := New(p, Timings{Start: start, Tasks: 4}, (*Estimate).NoTime).TooShort
		if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.HasPrefix(got[0], c.want)) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
