package simtest

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/forecast"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/rehearse"
	"github.com/sluice-ecs/sluice/internal/rehearse/shape"
)

// The forecast of a plan is near the length of the same deployment as it is
// simulated: within a fifth, or half a minute if that is more.
func TestForecastIsNearTheSimulatedLength(t *testing.T) {
	changes := map[string]func(*rehearse.Case){
		"usual":     func(*rehearse.Case) {},
		"AWS's own": func(c *rehearse.Case) { c.World.Primary.Drain, c.World.Canary.Drain = 5*time.Minute, 5*time.Minute },
		"slow":      func(c *rehearse.Case) { c.World.Start, c.World.Tasks = 3*time.Minute, 12 },
		"in two":    func(c *rehearse.Case) { c.World.Percents = shape.Percents{Least: 50, Most: 100} },
		"in fours":  func(c *rehearse.Case) { c.World.Tasks, c.World.Percents = 8, shape.Percents{Least: 100, Most: 125} },
		"one task":  func(c *rehearse.Case) { c.World.Tasks = 1 },
	}
	for _, f := range Flows() {
		if f.Case.New != "" || len(f.Case.Interventions) > 0 {
			continue
		}
		for name, change := range changes {
			t.Run(f.Name+", "+name, func(t *testing.T) {
				t.Parallel()
				c := f.Case
				if c.World.Controller != "ECS" && strings.HasPrefix(name, "in ") {
					t.Skip("ECS does not roll it")
				}
				c.World.Listeners = PlainWorld().Listeners
				change(&c)
				p, r := planned(c)
				if r.Outcome != sluice.Succeeded || c.Before+c.After != "" || c.IsJob() {
					t.Skip("how long a program runs that ends by itself, nobody knows")
				}
				said := mode.NewForecast(p, forecast.Timings{Start: c.World.Start, Tasks: c.World.Tasks,
					Drain: c.World.Primary.Drain})
				t.Logf("%s, forecast %s %v; %v", r.Took, said.Took, said.Stages, r.Stages)
				if off := (said.Took - r.Took).Abs(); off > max(r.Took/5, 30*time.Second) {
					t.Errorf("it took %s, and the forecast is %s", r.Took, said.Took)
				}
			})
		}
	}
}

// planned is a case's plan and what came of it.
func planned(c rehearse.Case) (*plan.Plan, rehearse.Result) {
	r := runCase(c, nil)
	return r.Deployment.Plan, r.Report.Result
}
