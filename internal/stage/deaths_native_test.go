package stage_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// breaker is a circuit breaker, which ECS's own strategies do not use.
const breaker = ", deploymentCircuitBreaker: {enable: true, rollback: true}"

// ECS's own strategies do not watch tasks that were healthy once. A version whose tasks die again and again while ECS
// shifts traffic, or in its bake time, is rolled back with its cause, and callers get the former one.
func TestDeathsOfNativeStrategiesAreRolledBack(t *testing.T) {
	for _, c := range []struct{ kind, image, cause, more string }{
		{"BLUE_GREEN", "sim/web:v2-crash-after-60s", "exit code 1 of container web", ""},
		{"LINEAR", "sim/web:v2-crash-after-60s", "exit code 1 of container web", breaker},
		{"CANARY", "sim/web:v2-crash-after-150s?exit=137", "exit code 137", ""},
		{"BLUE_GREEN", "sim/web:v2-oom-after-90s", "exit code 137 (killed: SIGKILL, often out of memory)", breaker},
		{"LINEAR", "sim/web:v2-unhealthy-after-110s-term-2s", "Task failed ELB health checks", ""},
		{"BLUE_GREEN", "sim/web:v2-unhealthy-after-110s-term-2s", "Task failed ELB health checks", breaker},
	} {
		t.Run(c.kind+" "+c.image, func(t *testing.T) {
			configuration := stagetest.Strategies[c.kind] + c.more
			stagetest.RunNative(t, configuration, func(b *stagetest.Bench) {
				end := b.Deploy(b.NativeFiles(c.image, configuration))
				got := b.CallersGet()
				if end.Outcome != sluice.RolledBack || !strings.Contains(end.Cause, c.cause) || got != "v1 200" {
					b.Errorf("%s: %s; callers get %q\n%s", end.Outcome, end.Cause, got, b.EventLog())
				}
			})
		})
	}
}

// bakeDeaths are tasks of a revision that die in the bake time: count at once, in several waves.
type bakeDeaths struct {
	waves, count, revision int
	every                  time.Duration
}

// One task that dies in the bake time withholds the success until the others have been stable. Waves of deaths are a
// failure, also if AWS reports success in between. A version without a death is a success as soon as ECS reports it,
// although tasks of the former one die.
func TestDeathsInTheBakeTime(t *testing.T) {
	for _, c := range []struct {
		name, kind string
		deaths     bakeDeaths
		outcome    sluice.Outcome
	}{
		{"none", "BLUE_GREEN", bakeDeaths{0, 0, 0, 0}, sluice.Succeeded},
		{"none", "LINEAR", bakeDeaths{0, 0, 0, 0}, sluice.Succeeded},
		{"of the former", "CANARY", bakeDeaths{4, 1, 1, 25 * time.Second}, sluice.Succeeded},
		{"once", "BLUE_GREEN", bakeDeaths{1, 1, 2, 0}, sluice.Succeeded},
		{"twice", "LINEAR", bakeDeaths{2, 1, 2, 70 * time.Second}, sluice.Succeeded},
		{"in a row", "CANARY", bakeDeaths{4, 1, 2, 25 * time.Second}, sluice.RolledBack},
		{"in waves", "BLUE_GREEN", bakeDeaths{3, 2, 2, 50 * time.Second}, sluice.RolledBack},
		{"all", "LINEAR", bakeDeaths{1, 4, 2, 0}, sluice.RolledBack},
		{"beyond the end", "CANARY", bakeDeaths{4, 1, 2, 110 * time.Second}, sluice.RolledBack},
		{"beyond the end", "BLUE_GREEN", bakeDeaths{4, 1, 2, 110 * time.Second}, sluice.RolledBack},
	} {
		t.Run(c.kind+" "+c.name, func(t *testing.T) {
			stagetest.RunNative(t, stagetest.Strategies[c.kind], func(b *stagetest.Bench) {
				id := b.Start(b.NativeFiles("sim/web:v2", stagetest.Strategies[c.kind]))
				var died time.Time
				b.Clock.Go(func() { died = c.deaths.happen(b) })
				end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
				afterDeath, afterAWS := b.Clock.Now().Sub(died), b.Clock.Now().Sub(b.FinishedAt())
				gets := "v2 200"
				if c.outcome == sluice.RolledBack {
					gets = "v1 200"
				}
				if got := b.CallersGet(); end.Outcome != c.outcome || got != gets {
					b.Errorf("%s: %s; callers get %q, want %q\n%s", end.Outcome, end.Cause, got, gets, b.EventLog())
				}
				withheld := c.outcome == sluice.Succeeded && c.deaths.revision == 2
				if withheld && (afterDeath < time.Minute || afterDeath > 6*time.Minute) ||
					!withheld && afterAWS > 5*time.Second {
					b.Errorf("ended %s after the last death, %s after AWS\n%s", afterDeath, afterAWS, b.EventLog())
				}
			})
		})
	}
}

// happen lets the tasks die from the middle of the bake time on, and returns when the last one did.
func (d bakeDeaths) happen(b *stagetest.Bench) (last time.Time) {
	b.UntilStage("BAKE_TIME")
	b.Sleep(100 * time.Second)
	for range d.waves {
		stagetest.Must(b, b.Sim.Inject(fmt.Sprintf("task-crash web count=%d revision=%d", d.count, d.revision)))
		last = b.Clock.Now()
		b.Sleep(d.every)
	}
	return last
}

// While ECS lets the bake time pass, a deployment reads the service every 5 s and its record every 10 s.
func TestFewReadsInTheBakeTime(t *testing.T) {
	calls := func(minutes int) int {
		configuration := fmt.Sprintf("strategy: BLUE_GREEN, bakeTimeInMinutes: %d", minutes)
		count := 0
		stagetest.RunNative(t, configuration, func(b *stagetest.Bench) {
			if end := b.Deploy(b.NativeFiles("sim/web:v2", configuration)); end.Outcome != sluice.Succeeded {
				b.Fatalf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
			}
			count = len(b.Calls)
		})
		return count
	}
	if more := calls(10) - calls(2); more > 8*(12+6)+20 { // after ten minutes without a change every wait has few
		t.Errorf("8 minutes of bake time took %d calls", more)
	}
}

// The time that ECS lets pass as configured is no lack of progress, also if it is longer than a deployment may be without
// progress.
func TestLongWaitsOfNativeStrategiesAreNoStall(t *testing.T) {
	for _, configuration := range []string{"strategy: BLUE_GREEN, bakeTimeInMinutes: 30",
		"strategy: CANARY, bakeTimeInMinutes: 15, canaryConfiguration: {canaryPercent: 20, canaryBakeTimeInMinutes: 20}",
		"strategy: LINEAR, bakeTimeInMinutes: 0, linearConfiguration: {stepPercent: 50, stepBakeTimeInMinutes: 20}"} {
		stagetest.RunNative(t, configuration, func(b *stagetest.Bench) {
			end := b.Deploy(b.NativeFiles("sim/web:v2", configuration))
			if got := b.CallersGet(); end.Outcome != sluice.Succeeded || got != "v2 200" {
				b.Errorf("%s: %s: %s; callers get %q\n%s", configuration, end.Outcome, end.Cause, got, b.EventLog())
			}
		})
	}
}
