package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
)

// The proof can fail: callers still have the addresses of tasks that are stopped
// without waiting for them.
func TestWithoutTheDrainWaitRequestsByNameAreLost(t *testing.T) {
	for flow, pipeline := range map[string]string{"canary": namedCanary, "blue/green": namedBlueGreen} {
		byName(t, named{}, func(b *nameBench) {
			b.engine.Abrupt = true
			got(b.engine.Run(context.Background(), b.startNamed("sim/api:v2", pipeline), engine.Options{}))(b)
			lost := 0.0
			for _, t := range b.tallies {
				lost += t.Report().Failed
			}
			if lost == 0 {
				b.Errorf("%s: nothing was lost", flow)
			}
		})
	}
}

func TestNamedCanaryThatCrashesIsTakenAway(t *testing.T) {
	for flow, pipeline := range map[string]string{"canary": namedCanary, "blue/green": namedBlueGreen,
		"quick sync": ""} {
		byName(t, named{check: 5 * time.Second}, func(b *nameBench) {
			end := got(b.engine.Run(context.Background(),
				b.startNamed("sim/api:v2?crash-after=2s&exit=3&healthy-after=1h", pipeline), engine.Options{}))(b)
			b.ends(end, sluice.RolledBack, "exit code 3", namedV1, "4 primary, 0 canary")
			if b.nobodyLost(); b.Failed() {
				b.Errorf("%s", flow)
			}
		})
	}
}

// What ECS puts back ends the stage with that reason; nobody is lost, and no shift
// is claimed.
func TestNamedWhereECSPutsInstancesBack(t *testing.T) {
	byName(t, named{knobs: "ecsRestoresInstances: true, schedulerLoop: 5s"}, func(b *nameBench) {
		end := got(b.engine.Run(context.Background(), b.startNamed("sim/api:v2", namedBlueGreen), engine.Options{}))(b)
		b.ends(end, sluice.RolledBack, "registered again", namedV1, "4 primary, 0 canary")
		b.nobodyLost()
	})
}

func TestNamedUnderFaults(t *testing.T) {
	for name, c := range map[string]struct {
		fault   string
		outcome sluice.Outcome
		cause   string
		end     string
	}{
		"throttled":    {"throttle servicediscovery:* p=0.3", sluice.Succeeded, "", namedV2},
		"lost replies": {"lost-reply servicediscovery:* p=0.2", sluice.Succeeded, "", namedV2},
		"a registration fails": {"failed-operation servicediscovery:Register* times=1", sluice.RolledBack,
			"INTERNAL_FAILURE", namedV1},
		"a deregistration fails": {"failed-operation servicediscovery:Deregister* times=2", sluice.RolledBack,
			"INTERNAL_FAILURE", namedV1},
		"5xx":                      {"5xx servicediscovery:* p=0.2", sluice.Succeeded, "", namedV2},
		"stale answers of the map": {"stale servicediscovery:* by=3s", sluice.Succeeded, "", namedV2},
	} {
		t.Run(name, func(t *testing.T) {
			for flow, pipeline := range map[string]string{"canary": namedCanary, "blue/green": namedBlueGreen} {
				byName(t, named{}, func(b *nameBench) {
					must(b, b.sim.Inject(c.fault))
					end := got(b.engine.Run(context.Background(), b.startNamed("sim/api:v2", pipeline),
						engine.Options{}))(b)
					b.sim.ClearFaults()
					b.ends(end, c.outcome, c.cause, c.end, "4 primary, 0 canary")
					if b.nobodyLost(); b.Failed() {
						b.Errorf("%s", flow)
					}
				})
			}
		})
	}
}
