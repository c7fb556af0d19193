package discovered_test

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// callersOf returns how many requests of callers of the name each version got so far, and how many failed.
func callersOf(b *stagetest.NameBench) (versions map[string]float64, failed float64) {
	versions = map[string]float64{}
	for _, t := range b.Tallies {
		r := t.Report()
		for _, l := range r.Lines {
			versions[l.Version] += l.Count
		}
		failed += r.Failed
	}
	return versions, failed
}

// A rollback registers the tasks of the primary again if others deregistered all of them before the first shift.
func TestRollbackBeforeTheFirstShiftFillsAnEmptyName(t *testing.T) {
	for _, controller := range []string{"EXTERNAL", "ECS"} {
		t.Run(controller, func(t *testing.T) {
			stagetest.RunByName(t, stagetest.Named{Controller: controller}, func(b *stagetest.NameBench) {
				id := b.StartNamed("sim/api:v2", stagetest.NamedCanary)
				b.OnEvent(func(e sluice.Event) bool { _, ok := e.(sluice.StageStarted); return ok }, func() {
					b.Clock.Go(func() {
						stagetest.Must(b, b.Clock.Sleep(context.Background(), 20*time.Second))
						deregisterAll(b)
					})
				})
				end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
				if end.Outcome != sluice.RolledBack || b.Found() != "4 primary, 0 canary" {
					b.Errorf("%s: %s; next: %s; %s\n%s", end.Outcome, end.Cause, end.Next, b.Found(), b.EventLog())
				}
				stagetest.Must(b, b.Clock.Sleep(context.Background(), 2*time.Minute))
				_, before := callersOf(b)
				stagetest.Must(b, b.Clock.Sleep(context.Background(), 2*time.Minute))
				got, failed := callersOf(b)
				const rounding = 1e-3 // sums of shares of requests
				if got["v2"] > 0 || failed-before > rounding {
					b.Errorf("callers get %v, and %.0f requests fail", got, failed-before)
				}
			})
		})
	}
}

// A pipeline over a name on which no task of the primary is registered is refused, and the advised command repairs it.
func TestDeploymentOverAnEmptyName(t *testing.T) {
	for _, controller := range []string{"EXTERNAL", "ECS"} {
		t.Run(controller, func(t *testing.T) {
			stagetest.RunByName(t, stagetest.Named{Controller: controller}, func(b *stagetest.NameBench) {
				deregisterAll(b)
				stagetest.Must(b, b.Clock.Sleep(context.Background(), time.Minute))
				_, err := b.Plan(b.NamedFiles("sim/api:v2", stagetest.NamedCanary), mode.Options{})
				if err == nil || !strings.Contains(err.Error(), "no instance is registered under api.shop.local") ||
					!strings.Contains(sluice.NextStep(err), "register the tasks again: sluice refresh") {
					b.Fatalf("planned: %v; next: %s", err, sluice.NextStep(err))
				}
				// sluice refresh: the running revision, in one step
				p := stagetest.Got(b.Plan(b.NamedFiles("sim/api:v1", stagetest.NamedCanary),
					mode.Options{QuickSync: true, Force: controller == "ECS"}))(b)
				id := stagetest.Got(b.Engine.Start(context.Background(), p, engine.TriggerManual))(b)
				end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
				if end.Outcome != sluice.Succeeded || b.Found() != "4 primary, 0 canary" {
					b.Errorf("%s: %s; %s\n%s", end.Outcome, end.Cause, b.Found(), b.EventLog())
				}
			})
		})
	}
}

// No write makes the canary the only variant that callers of the name get, unless its stage asks for all of them. The
// name is emptied after the plan was made.
func TestNoShiftOntoANameWithoutThePrimary(t *testing.T) {
	for name, pipeline := range map[string]string{"a shift": stagetest.NamedCanary, "no shift": namedAtOnce} {
		for _, controller := range []string{"EXTERNAL", "ECS"} {
			t.Run(name+" "+controller, func(t *testing.T) {
				stagetest.RunByName(t, stagetest.Named{Controller: controller}, func(b *stagetest.NameBench) {
					id := b.Start(allowing(b, pipeline))
					deregisterAll(b)
					stagetest.Must(b, b.Clock.Sleep(context.Background(), time.Minute))
					end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
					if end.Outcome != sluice.RolledBack || b.Found() != "4 primary, 0 canary" ||
						!strings.Contains(end.Cause, "0 tasks of the primary") {
						b.Errorf("%s: %s; next: %s; %s\n%s", end.Outcome, end.Cause, end.Next, b.Found(), b.EventLog())
					}
					if got, _ := callersOf(b); got["v2"] > 0 {
						b.Errorf("callers get %v\n%s", got, b.EventLog())
					}
				})
			})
		}
	}
}

// allowing returns files that set onUnhealthyRoute: allow.
func allowing(b *stagetest.NameBench, pipeline string) fstest.MapFS {
	return stagetest.AddLines(b.NamedFiles("sim/api:v2", pipeline), "sluice.yaml", "onUnhealthyRoute: allow\n")
}

// onUnhealthyRoute: allow does not let a canary be alone under an empty name either, unless its stage asks for all
// callers: plan and outcome say that it was alone.
func TestAllowedDeploymentOverAnEmptyName(t *testing.T) {
	for _, controller := range []string{"EXTERNAL", "ECS"} {
		t.Run(controller, func(t *testing.T) {
			stagetest.RunByName(t, stagetest.Named{Controller: controller}, func(b *stagetest.NameBench) {
				deregisterAll(b)
				stagetest.Must(b, b.Clock.Sleep(context.Background(), time.Minute))
				for name, pipeline := range map[string]string{"a shift": stagetest.NamedCanary, "no shift": namedAtOnce} {
					_, err := b.Plan(allowing(b, pipeline), mode.Options{})
					if err == nil || !strings.Contains(err.Error(), "no instance is registered under api.shop.local") ||
						sluice.NextStep(err) != "register the tasks again: sluice refresh" {
						b.Fatalf("%s: planned: %v; next: %s", name, err, sluice.NextStep(err))
					}
				}
				p := stagetest.Got(b.Plan(allowing(b, stagetest.NamedBlueGreen), mode.Options{}))(b)
				const want = "stage 2 lets callers of api.shop.local get only the canary, before any other version is registered"
				if !strings.Contains(strings.Join(p.Warnings, "\n"), want) {
					b.Errorf("the plan warns %q, want %s", p.Warnings, want)
				}
				id := stagetest.Got(b.Engine.Start(context.Background(), p, engine.TriggerManual))(b)
				end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
				const note = "callers of api.shop.local got only the canary from stage 2 on: no other version was registered"
				if end.Outcome != sluice.Succeeded || !strings.Contains(end.Cause, note) || b.Found() != "4 primary, 0 canary" {
					b.Errorf("%s: %s; %s; want the note %s\n%s", end.Outcome, end.Cause, b.Found(), note, b.EventLog())
				}
			})
		})
	}
}

// A pipeline of which all callers get the canary says nothing about a name that is not empty.
func TestDeploymentOverANameSaysNothing(t *testing.T) {
	stagetest.RunByName(t, stagetest.Named{}, func(b *stagetest.NameBench) {
		p := stagetest.Got(b.Plan(allowing(b, stagetest.NamedBlueGreen), mode.Options{}))(b)
		id := stagetest.Got(b.Engine.Start(context.Background(), p, engine.TriggerManual))(b)
		end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
		if end.Outcome != sluice.Succeeded || strings.Contains(strings.Join(p.Warnings, "")+end.Cause, "only the canary") {
			b.Errorf("%s: %s; warnings %q", end.Outcome, end.Cause, p.Warnings)
		}
	})
}
