package forecast

import (
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/internal/plan"
)

func TestBakeTime(t *testing.T) {
	for config, want := range map[string]time.Duration{
		`{}`:                      0,
		`{"bakeTimeInMinutes":5}`: 5 * time.Minute,
		`{"bakeTimeInMinutes":5,"alarms":{"enable":true,"rollback":true,"alarmNames":["a"]}}`:      5 * time.Minute,
		`{"strategy":"BLUE_GREEN","bakeTimeInMinutes":5}`:                                          5 * time.Minute,
		`{"strategy":"CANARY","canaryConfiguration":{"canaryBakeTimeInMinutes":3}}`:                3 * time.Minute,
		`{"strategy":"CANARY","bakeTimeInMinutes":1}`:                                              11 * time.Minute,
		`{"strategy":"LINEAR","linearConfiguration":{"stepPercent":25,"stepBakeTimeInMinutes":2}}`: 6 * time.Minute,
	} {
		p := &plan.Plan{Controller: plan.ControllerECS,
			Definition: []byte(`{"serviceName":"web","deploymentConfiguration":` + config + `}`)}
		f := &Estimate{plan: p, tasks: 4}
		if got := f.bakeTime(); got != want {
			t.Errorf("%s bakes for %s, want %s", config, got, want)
		}
		if n, ahead := f.batchCount(); n != 1 || !ahead {
			t.Errorf("%s: %d batches", config, n)
		}
	}
}
