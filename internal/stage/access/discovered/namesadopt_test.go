package discovered_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// A journal is lost while the canary alone is found, long enough ago that ECS must
// have registered the primary: who adopts the service finds nothing strange in that,
// whatever onOutsideChange says, and all of the primary is found again.
func TestNamedAdoptedWhereTheJournalIsLost(t *testing.T) {
	pipeline := strings.Replace(stagetest.NamedBlueGreen, "    - {name: ECS_PRIMARY_ROLLOUT}",
		"    - {name: WAIT_APPROVAL}\n    - {name: ECS_PRIMARY_ROLLOUT}", 1)
	for _, controller := range []string{"EXTERNAL", "ECS"} {
		for _, policy := range []sluice.OnOutside{sluice.StopOnChange, sluice.ReassertChange, sluice.AdoptChange} {
			stagetest.RunByName(t, stagetest.Named{Controller: controller, Image: "?term=80s"},
				func(b *stagetest.NameBench) {
					ctx := context.Background()
					files := stagetest.AddLines(b.NamedFiles("sim/api:v2", pipeline), "sluice.yaml",
						"onOutsideChange: "+string(policy)+"\n")
					lost := b.Start(files)
					stagetest.Got(b.Engine.Run(ctx, lost, engine.Options{NoWait: true}))(b)
					if b.Found() != "0 primary, 4 canary" {
						b.Fatalf("%s\n%s", b.Found(), b.EventLog())
					}
					stagetest.Must(b, b.Clock.Sleep(ctx, 10*time.Minute))
					p := stagetest.Got(b.Plan(files, mode.Options{TakeOver: lost, Adopt: true, Only: true}))(b)
					e := b.StartOnOtherMachine()
					end := stagetest.Got(e.Run(ctx, stagetest.Got(e.Start(ctx, p, engine.TriggerManual))(b),
						engine.Options{}))(b)
					if end.Outcome != sluice.Succeeded || b.Found() != "4 primary, 0 canary" {
						b.Errorf("%s, %s: %s: %s; %s\n%s", controller, policy, end.Outcome, end.Cause, b.Found(),
							b.EventLog())
					}
					b.ExpectNobodyLost()
				})
		}
	}
}

// Where ECS puts back whatever is taken out, nobody can be made to forget a task
// before it stops. That is told, and the deployment ends: nothing else ever would.
func TestNamedTasksThatECSPutsBackStopAllTheSame(t *testing.T) {
	stagetest.RunByName(t, stagetest.Named{Knobs: "ecsRestoresInstances: true", Image: "?term=80s"},
		func(b *stagetest.NameBench) {
			end := stagetest.Got(b.Engine.Run(context.Background(), b.StartNamed("sim/api:v2?term=80s", ""),
				engine.Options{}))(b)
			b.ExpectNamed(end, sluice.Succeeded, "", "PRIMARY sim/api:v2?term=80s 4", "4 primary, 0 canary")
			if !strings.Contains(b.EventLog(), "is registered repeatedly under api.shop.local") {
				b.Errorf("nobody is told\n%s", b.EventLog())
			}
			b.ExpectNobodyLost()
		})
}
