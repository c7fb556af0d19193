package discovered_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// The proof can fail: callers still have the addresses of tasks that are stopped before the TTL
// has passed. They lose no request if AWS reports the TTL.
func TestWithoutTheDrainWaitRequestsByNameAreLost(t *testing.T) {
	for flow, pipeline := range map[string]string{"canary": stagetest.NamedCanary,
		"blue/green": stagetest.NamedBlueGreen} {
		for _, unseen := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/the TTL is not reported: %v", flow, unseen), func(t *testing.T) {
				stagetest.RunByName(t, stagetest.Named{TTL: 5 * time.Minute}, func(b *stagetest.NameBench) {
					if unseen {
						b.Account = b.OpenAccount(stagetest.TTLSeemsZero)
						b.Engine.Account = b.Account
					}
					stagetest.Got(b.Engine.Run(context.Background(), b.StartNamed("sim/api:v2", pipeline),
						engine.Options{}))(b)
					lost := 0.0
					for _, t := range b.Tallies {
						lost += t.Report().Failed
					}
					if (lost > 0) != unseen {
						b.Errorf("%.1f requests were lost", lost)
					}
				})
			})
		}
	}
}

func TestNamedCanaryThatCrashesIsTakenAway(t *testing.T) {
	for flow, pipeline := range map[string]string{"canary": stagetest.NamedCanary,
		"blue/green": stagetest.NamedBlueGreen,
		"quick sync": ""} {
		stagetest.RunByName(t, stagetest.Named{Check: 5 * time.Second}, func(b *stagetest.NameBench) {
			end := stagetest.Got(b.Engine.Run(context.Background(),
				b.StartNamed("sim/api:v2?crash-after=2s&exit=3&healthy-after=1h", pipeline), engine.Options{}))(b)
			b.ExpectNamed(end, sluice.RolledBack, "exit code 3", stagetest.NamedV1, "4 primary, 0 canary")
			if b.ExpectNobodyLost(); b.Failed() {
				b.Errorf("%s", flow)
			}
		})
	}
}

// A person asks for the rollback while Cloud Map deregisters the former version's tasks, or just after it. Reads still
// show them then: the rollback registers them again before it deregisters others, so that the name is never empty.
func TestNamedRollbackRightAfterADeregistration(t *testing.T) {
	for _, fault := range []string{"stale servicediscovery:* by=5s", "5xx servicediscovery:GetOperation p=0.5", ""} {
		for after := range 4 {
			for flow, pipeline := range map[string]string{"canary": stagetest.NamedCanary,
				"blue/green": stagetest.NamedBlueGreen} {
				stagetest.RunByName(t, stagetest.Named{}, func(b *stagetest.NameBench) {
					ctx := context.Background()
					if fault != "" {
						stagetest.Must(b, b.Sim.Inject(fault))
					}
					id := b.StartNamed("sim/api:v2", pipeline)
					b.AfterWrite("servicediscovery:DeregisterInstance", time.Duration(after)*time.Second, func() {
						stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
					})
					end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
					b.Sim.ClearFaults()
					b.ExpectNamed(end, sluice.RolledBack, "requested", stagetest.NamedV1, "4 primary, 0 canary")
					if b.ExpectNobodyLost(); b.Failed() {
						b.Fatalf("%s, %ds after the write, under %q", flow, after, fault)
					}
				})
			}
		}
	}
}

// What ECS puts back ends the stage with that reason; nobody is lost, and no shift
// is claimed.
func TestNamedWhereECSPutsInstancesBack(t *testing.T) {
	stagetest.RunByName(t, stagetest.Named{Knobs: "ecsRestoresInstances: true, schedulerLoop: 5s"},
		func(b *stagetest.NameBench) {
			end := stagetest.Got(b.Engine.Run(context.Background(),
				b.StartNamed("sim/api:v2", stagetest.NamedBlueGreen),
				engine.Options{}))(b)
			b.ExpectNamed(end, sluice.RolledBack, "registered again", stagetest.NamedV1, "4 primary, 0 canary")
			b.ExpectNobodyLost()
		})
}

func TestNamedUnderFaults(t *testing.T) {
	for name, c := range map[string]struct {
		fault   string
		outcome sluice.Outcome
		cause   string
		end     string
	}{
		"throttled":    {"throttle servicediscovery:* p=0.3", sluice.Succeeded, "", stagetest.NamedV2},
		"lost replies": {"lost-reply servicediscovery:* p=0.2", sluice.Succeeded, "", stagetest.NamedV2},
		"a registration fails": {"failed-operation servicediscovery:Register* times=1", sluice.RolledBack,
			"INTERNAL_FAILURE", stagetest.NamedV1},
		"a deregistration fails": {"failed-operation servicediscovery:Deregister* times=2", sluice.RolledBack,
			"INTERNAL_FAILURE", stagetest.NamedV1},
		"5xx":                      {"5xx servicediscovery:* p=0.2", sluice.Succeeded, "", stagetest.NamedV2},
		"stale answers of the map": {"stale servicediscovery:* by=3s", sluice.Succeeded, "", stagetest.NamedV2},
	} {
		t.Run(name, func(t *testing.T) {
			for flow, pipeline := range map[string]string{"canary": stagetest.NamedCanary,
				"blue/green": stagetest.NamedBlueGreen} {
				stagetest.RunByName(t, stagetest.Named{}, func(b *stagetest.NameBench) {
					stagetest.Must(b, b.Sim.Inject(c.fault))
					end := stagetest.Got(b.Engine.Run(context.Background(), b.StartNamed("sim/api:v2", pipeline),
						engine.Options{}))(b)
					b.Sim.ClearFaults()
					b.ExpectNamed(end, c.outcome, c.cause, c.end, "4 primary, 0 canary")
					if b.ExpectNobodyLost(); b.Failed() {
						b.Errorf("%s", flow)
					}
				})
			}
		})
	}
}
