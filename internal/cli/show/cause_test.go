package show

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// A cause is shown in full where it is found, and by its stage after that. The cause of a rollback that
// fails too is shown in full.
func TestCauseIsShownInFullOnce(t *testing.T) {
	const cause = "wait for the canary to be healthy: 3 of 3 tasks stopped: exit code 1 of container web"
	events := []sluice.Event{
		sluice.StageStarted{Index: 0, Name: "ECS_CANARY_ROLLOUT"},
		sluice.StageEnded{Index: 0, Name: "ECS_CANARY_ROLLOUT", Status: "failed", Cause: cause},
		sluice.RollbackStarted{Cause: cause},
		sluice.DeploymentEnded{Outcome: sluice.Failed, Cause: cause + "; rollback: the revision is deregistered"},
	}
	for _, c := range []struct {
		name string
		open func(*bytes.Buffer) Renderer
		want []string
	}{
		{"lines", func(b *bytes.Buffer) Renderer { return &lineRenderer{w: b} },
			[]string{"rolling back: stage 1 ECS_CANARY_ROLLOUT failed\n",
				"failed: stage 1 ECS_CANARY_ROLLOUT failed; rollback: the revision is deregistered\n"}},
		{"progress view", func(b *bytes.Buffer) Renderer {
			return newProgressView(b, Paint{}, NewBoard(&plan.Plan{}), clock.NewVirtual(time.Unix(0, 0)),
				func() (int, int) { return 200, 50 })
		}, []string{"rolling back: stage 1 ECS_CANARY_ROLLOUT failed\n"}},
	} {
		var out bytes.Buffer
		r := c.open(&out)
		for i, ev := range events {
			e := sluice.Seal("slc-1", "", ev)
			e.At = time.Unix(int64(i), 0)
			r.ShowEvent(e)
		}
		r.Close()
		if n := strings.Count(out.String(), cause); n != 1 {
			t.Errorf("%s: the cause is shown %d times:\n%s", c.name, n, out.String())
		}
		for _, want := range c.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: %q is missing:\n%s", c.name, want, out.String())
			}
		}
	}
}
