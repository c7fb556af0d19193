package ecs_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/route/alb"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

// publishedReasons returns the published reasons of one place, as fields.
func publishedReasons(t *testing.T, place string) (all [][]string) {
	t.Helper()
	data, err := os.ReadFile("../verdict/diagnosis/testdata/published.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if f := strings.SplitN(strings.TrimSpace(line), "; ", 4); f[0] == place {
			all = append(all, f)
		}
	}
	return all
}

// expectCause compares a cause with a published reason.
func expectCause(t *testing.T, all []diagnosis.Cause, f []string) {
	t.Helper()
	if len(all) == 0 || string(all[0].Kind) != f[1] || !strings.Contains(all[0].Advice(), f[2]) {
		t.Errorf("%s:\n is %+v\n want %q with %q", f[3], all, f[1], f[2])
	}
}

// in changes the world.
func (b *bench) in(do func(*world.Tx)) {
	b.Helper()
	b.check(b.sim.World().Do(world.Key{Account: b.sim.Account(), Region: b.sim.Region()}, func(tx *world.Tx) error {
		do(tx)
		return nil
	}))
}

// Every published event of a service is read from the local AWS, and has its kind and its remedy.
func TestPublishedEventsArePlayed(t *testing.T) {
	onWorld(t, func(b *bench) {
		for _, f := range publishedReasons(t, "event") {
			began := b.clock.Now()
			b.in(func(tx *world.Tx) {
				svc, _ := tx.Services.Get("prod/api")
				svc.Events = []world.ServiceEvent{{ID: "e1", At: tx.Now(), Message: f[3]}}
			})
			live, err := b.service("api").Observe(b.ctx)
			b.check(err)
			expectCause(t, diagnosis.ExplainEvents(live.Events(), began), f)
		}
	})
}

// Every published description of an unhealthy target is read from the local AWS, and has its kind and its remedy.
func TestPublishedTargetReasonsArePlayed(t *testing.T) {
	onWorld(t, func(b *bench) {
		for _, f := range publishedReasons(t, "target") {
			arn := ""
			b.in(func(tx *world.Tx) {
				for _, g := range tx.TargetGroups.Values() {
					for _, x := range g.Targets {
						arn, x.State, x.Description, x.Reason = g.ARN, "unhealthy", f[3], "Target.FailedHealthChecks"
					}
				}
			})
			targets, err := alb.ReadHealth(b.ctx, b.account.ELB(), arn)
			b.check(err)
			if len(targets) == 0 {
				t.Fatal("no target")
			}
			c, _ := diagnosis.ExplainTarget(targets[0])
			expectCause(t, []diagnosis.Cause{c}, f)
		}
	})
}

// Every published reason is played: a task fails to start with it, and the cause has its kind and its remedy.
func TestPublishedReasonsArePlayed(t *testing.T) {
	onWorld(t, func(b *bench) {
		reasons, world := publishedReasons(t, "start"), worldText+"\nimages:\n"
		for i, f := range reasons {
			text, err := json.Marshal(f[3])
			b.check(err)
			world += fmt.Sprintf("  reason/n%d:*: {noboot: %s}\n", i, text)
		}
		b.check(b.sim.Load("world.yaml", []byte(world)))
		for i, f := range reasons {
			ended := b.endOf(fmt.Sprintf("reason/n%d:v1", i))
			c, failed := diagnosis.ExplainRun(ended, "app", nil)
			if !failed {
				t.Errorf("%s: no failure", f[3])
			}
			expectCause(t, []diagnosis.Cause{c}, f)
		}
	})
}

// endOf runs a task and returns its end.
func (b *bench) endOf(image string) sluice.TaskEnded {
	b.Helper()
	l := b.launch(image, 1)
	l.ID = sluice.ActionID("d1/1/" + image)
	out, err := b.jobs().Run(b.ctx, b.act, "run job", l)
	b.check(err)
	var all []ecs.TaskRun
	b.until(image+" has ended", func() bool {
		all, err = b.jobs().DescribeTasks(b.ctx, out.Tasks)
		b.check(err)
		return len(all) == 1 && all[0].Ended != nil
	})
	return *all[0].Ended
}
