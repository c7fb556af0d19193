package ecs_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

// startReasons returns the published reasons of tasks that do not start, as fields.
func startReasons(t *testing.T) (all [][]string) {
	t.Helper()
	data, err := os.ReadFile("../verdict/diagnosis/testdata/published.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if f := strings.SplitN(strings.TrimSpace(line), "; ", 4); f[0] == "start" {
			all = append(all, f)
		}
	}
	return all
}

// Every published reason is played: a task fails to start with it, and the cause has its kind and its remedy.
func TestPublishedReasonsArePlayed(t *testing.T) {
	onWorld(t, func(b *bench) {
		reasons, world := startReasons(t), worldText+"\nimages:\n"
		for i, f := range reasons {
			text, err := json.Marshal(f[3])
			b.check(err)
			world += fmt.Sprintf("  reason/n%d:*: {noboot: %s}\n", i, text)
		}
		b.check(b.sim.Load("world.yaml", []byte(world)))
		for i, f := range reasons {
			ended := b.endOf(fmt.Sprintf("reason/n%d:v1", i))
			c, failed := diagnosis.ExplainRun(ended, "app", nil)
			if !failed || string(c.Kind) != f[1] || !strings.Contains(c.Advice(), f[2]) {
				t.Errorf("%s:\n is %q with %q\n want %q with %q", f[3], c.Kind, c.Advice(), f[1], f[2])
			}
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
