package stage_test

import (
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// An early success of ECS ends its deployment before all tasks run, or before the former ones are gone. Sluice reports a
// success only when callers get the new version alone.
func TestEarlySuccessIsWaitedOut(t *testing.T) {
	for _, cleanup := range []string{"BLOCKING", "DEFERRED"} {
		t.Run(cleanup, func(t *testing.T) {
			stagetest.RunRolling(t, func(b *stagetest.Bench) {
				end := b.Deploy(b.RollingFiles("sim/web:v2", "desiredCount: 4\navailabilityZoneRebalancing: DISABLED\n"+
					"deploymentConfiguration: {minimumHealthyPercent: 50, maximumPercent: 100, earlySuccessCriteria: "+
					"{enable: true, healthyPercent: 50, sourceServiceRevisionCleanup: "+cleanup+"}}\n"))
				state := b.RollingState()
				if got := b.CallersGet(); end.Outcome != sluice.Succeeded || end.Cause != "" || got != "v2 200" ||
					strings.TrimPrefix(state, "ACTIVE sim/web:v1 COMPLETED 0 running; ") != stagetest.RolledV2 {
					b.Errorf("%s: %s; %s; callers get %q\n%s", end.Outcome, end.Cause, state, got, b.EventLog())
				}
				if isEarly := strings.Contains(b.EventLog(), "success needs 4 tasks"); isEarly != (cleanup == "DEFERRED") {
					b.Errorf("waited after ECS's success: %t\n%s", isEarly, b.EventLog())
				}
			})
		})
	}
}
