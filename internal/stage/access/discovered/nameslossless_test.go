package discovered_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// backs is where somebody asks for the rollback of a deployment: nowhere, behind the
// stage, or in the middle of it.
type backs struct {
	stage  int // counted from 1; 0: nowhere
	within bool
}

func (w backs) String() string {
	switch {
	case w.stage == 0:
		return "there"
	case w.within:
		return fmt.Sprintf("back in stage %d", w.stage)
	}
	return fmt.Sprintf("back after stage %d", w.stage)
}

// TestByNameLosesNoRequest: four kinds of callers with 300 requests a second each, over
// DNS and DiscoverInstances, while each flow goes on each hosting, there and back from
// each stage. Nobody lost a request in 20 runs of each with -runs 20.
func TestByNameLosesNoRequest(t *testing.T) {
	ways := []backs{{}}
	for n := 1; n <= 5; n++ {
		ways = append(ways, backs{stage: n}, backs{stage: n, within: true})
	}
	for flow, pipeline := range map[string]string{"canary": stagetest.NamedCanary,
		"blue/green": stagetest.NamedBlueGreen} {
		for _, controller := range []string{"EXTERNAL", "ECS"} {
			for _, ttl := range []time.Duration{10 * time.Second, time.Minute} {
				for _, w := range ways {
					t.Run(fmt.Sprintf("%s, %s, TTL %s, %s", flow, controller, ttl, w), func(t *testing.T) {
						for seed := range uint64(tries(1)) {
							stagetest.RunByName(t, stagetest.Named{Controller: controller, TTL: ttl, Seed: seed,
								Image: needs(flow, controller)},
								func(b *stagetest.NameBench) { deployAndRollBack(b, pipeline, w) })
						}
					})
				}
			}
		}
	}
}

// needs are options of the image without which requests are lost: ECS stops the tasks of
// a rolling service without waiting for anybody who has their addresses. In Blue/Green
// nobody has them any more.
func needs(flow, controller string) string {
	if flow == "canary" && controller == "ECS" {
		return "?term=80s"
	}
	return ""
}

func deployAndRollBack(b *stagetest.NameBench, pipeline string, w backs) {
	b.Helper()
	outcome, serves := sluice.RolledBack, "sim/api:v1"
	if w.stage == 0 {
		outcome, serves = sluice.Succeeded, "sim/api:v2"
	}
	want := "PRIMARY " + serves + b.Image + " 4"
	if b.Controller == "ECS" {
		want = "api " + serves + b.Image + " 4;"
	}
	end, stands := runAndRollBack(b, pipeline, w), b.TaskSets
	if b.Controller == "ECS" {
		stands = func() string { return rollingState(b) }
	}
	if end.Outcome != outcome || stands() != want || b.Found() != "4 primary, 0 canary" {
		b.Errorf("seed %d: %s (%s): %s; %s; want %s: %s\n%s", b.Seed, end.Outcome, end.Cause, stands(), b.Found(),
			outcome, want, b.EventLog())
	}
	b.ExpectNobodyLost()
	for name, t := range b.Tallies {
		if r := t.Report(); r.Requests < 20_000 {
			b.Errorf("%s made only %.0f requests", name, r.Requests)
		}
	}
}

// runAndRollBack is a deployment with a person who asks for its rollback.
func runAndRollBack(b *stagetest.NameBench, pipeline string, w backs) engine.RunResult {
	b.Helper()
	ctx := context.Background()
	if w.stage > 0 && !w.within {
		id := b.StartNamed("sim/api:v2"+b.Image, heldAfter(pipeline, w.stage))
		stagetest.Got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
		stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
		return stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
	}
	id := b.StartNamed("sim/api:v2"+b.Image, pipeline)
	if w.within {
		b.Clock.Go(func() {
			b.Until("the stage begins", func() bool { return countBegunStages(b) == w.stage })
			stagetest.Must(b, b.Clock.Sleep(ctx, time.Duration(b.Seed%5)*time.Second))
			stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
		})
	}
	return stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
}

// countBegunStages is how many stages have started.
func countBegunStages(b *stagetest.NameBench) (n int) {
	for _, e := range b.Events {
		if _, ok := e.Open().(sluice.StageStarted); ok {
			n++
		}
	}
	return n
}

// heldAfter is a pipeline with an approval behind its n-th stage.
func heldAfter(pipeline string, n int) string {
	lines := strings.Split(strings.TrimRight(pipeline, "\n"), "\n")
	at := 3 + n
	return strings.Join(append(append(append([]string{}, lines[:at]...), "    - {name: WAIT_APPROVAL}"), lines[at:]...),
		"\n") + "\n"
}

// exactShare is a canary that gets more tasks when its share is set.
const exactShare = `
pipeline:
  stages:
    - {name: ECS_CANARY_ROLLOUT, with: {scale: 50}}
    - {name: ECS_TRAFFIC_ROUTING, with: {canary: 60, exact: true}}
    - {name: ECS_PRIMARY_ROLLOUT}
    - {name: ECS_TRAFFIC_ROUTING, with: {primary: 100}}
    - {name: ECS_CANARY_CLEAN}
`

// The revision that serves is deployed again: its new tasks get requests when their own health check passes, not when
// they run.
func TestTheSameRevisionAgainLosesNoRequest(t *testing.T) {
	for _, controller := range []string{"EXTERNAL", "ECS"} {
		t.Run(controller, func(t *testing.T) {
			stagetest.RunByName(t, stagetest.Named{Controller: controller, Check: 20 * time.Second,
				Image: "?healthy-after=45s&term=80s"}, func(b *stagetest.NameBench) {
				ctx := context.Background()
				for _, o := range []mode.Options{{}, {Restart: "asked for", Pipeline: true}} {
					p := stagetest.Got(b.Plan(b.NamedFiles("sim/api:v2"+b.Image, exactShare), o))(b)
					id := stagetest.Got(b.Engine.Start(ctx, p, engine.TriggerManual))(b)
					end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
					if end.Outcome != sluice.Succeeded || len(p.Stages) < 5 {
						b.Fatalf("%d stages: %s: %s\n%s", len(p.Stages), end.Outcome, end.Cause, b.EventLog())
					}
				}
				b.ExpectNobodyLost()
			})
		})
	}
}
