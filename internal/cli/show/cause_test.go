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

// The end of a deployment whose service was deleted says so, also if the stage before has said it.
func TestCauseOfGoneIsShownAgain(t *testing.T) {
	const cause = "check the service (prod/web): another process or person deleted the service during the deployment"
	var out bytes.Buffer
	r := &lineRenderer{w: &out}
	for _, ev := range []sluice.Event{
		sluice.StageEnded{Index: 7, Name: "ECS_ROLLBACK", Status: "failed", Cause: cause},
		sluice.DeploymentEnded{Outcome: sluice.Gone, Cause: "rollback: " + cause},
	} {
		r.ShowEvent(sluice.Seal("slc-1", "", ev))
	}
	if want := "gone: rollback: " + cause + "\n"; !strings.Contains(out.String(), want) {
		t.Errorf("the end of a deployment whose service is gone must say %q, got:\n%s", want, out.String())
	}
}

// A refused write is shown in full, and then by its operation where the stage or the deployment ends with it.
func TestRefusedWriteIsShownInFullOnce(t *testing.T) {
	const refused = "elasticloadbalancing:ModifyRule (rule web:80:10): AccessDenied: User is not authorized"
	wrote := sluice.Wrote{Write: sluice.Write{Operation: "elasticloadbalancing:ModifyRule", Resource: "rule"}, Cause: refused}
	for _, c := range []struct {
		ends sluice.Event
		want string
	}{
		{sluice.DeploymentPaused{Why: "set the weights of rule 10 of port 80: " + refused},
			"paused: set the weights of rule 10 of port 80: elasticloadbalancing:ModifyRule failed\n"},
		{sluice.StageEnded{Name: "ECS_TRAFFIC_ROUTING", Status: "failed", Cause: "set the weights: " + refused},
			"failed: set the weights: elasticloadbalancing:ModifyRule failed\n"},
	} {
		var out bytes.Buffer
		r := &lineRenderer{w: &out}
		for i, ev := range []sluice.Event{sluice.StageStarted{Name: "ECS_TRAFFIC_ROUTING"}, wrote, c.ends} {
			e := sluice.Seal("slc-1", "", ev)
			e.At = time.Unix(int64(i), 0)
			r.ShowEvent(e)
		}
		if n := strings.Count(out.String(), refused); n != 1 || !strings.Contains(out.String(), c.want) {
			t.Errorf("the refusal is shown %d times, want once, and %q:\n%s", n, c.want, out.String())
		}
	}
}
