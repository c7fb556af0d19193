package cli

import (
	"bytes"
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/route/alb"
)

// canaryReport is the canary service of a service that ECS rolls.
type treeBeside struct {
	Service  string     `json:"service"`
	Status   string     `json:"status"`
	Made     string     `json:"madeBy"` // the deployment that created it
	Revision string     `json:"revision"`
	Desired  int        `json:"desired"`
	Running  int        `json:"running"`
	Pending  int        `json:"pending"`
	Tasks    []treeTask `json:"tasks,omitempty"`
}

// addCanaryService adds the canary service, if it exists and sluice created it.
func (t *tree) beside(ctx context.Context, a *account.Account, s subject) error {
	hand := ecs.Service{API: a.ECS(), Cluster: s.cluster, Name: plan.BesideName(s.service)}
	live, err := hand.Observe(ctx)
	if err != nil || !live.Stands() && !live.Goes() || live.Maker() == "" {
		return err
	}
	_, revision := live.PrimaryDeployment()
	t.Beside = &treeBeside{Service: hand.Name, Status: live.Status, Made: live.Maker().Deployment(), Revision: revision,
		Desired: live.Desired, Running: live.Running, Pending: live.Pending}
	tasks, err := hand.Tasks(ctx)
	if err != nil {
		return err
	}
	states, err := targetStates(ctx, a, s.canary)
	for _, task := range tasks {
		t.Beside.Tasks = append(t.Beside.Tasks, treeTask{ID: task.ID, Status: task.Status, Address: task.Address, Target: states[task.Address]})
	}
	return err
}

// readTargetStates returns the states of a group's targets by address. It returns none if group is
// empty.
func targetStates(ctx context.Context, a *account.Account, group string) (map[string]string, error) {
	if group == "" {
		return nil, nil
	}
	targets, err := alb.Health(ctx, a.ELB(), group)
	states := make(map[string]string, len(targets))
	for _, t := range targets {
		states[t.ID] = targetWords(t)
	}
	return states, err
}

func (v treeView) beside(b *bytes.Buffer, t *tree) {
	c := t.Beside
	if c == nil {
		return
	}
	fmt.Fprintf(b, "canary service %s: %s, %s, %d of %d running, %d pending (made by %s)\n",
		v.bold(t.Cluster+"/"+c.Service), c.Status, c.Revision, c.Running, c.Desired, c.Pending, c.Made)
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, task := range c.Tasks {
		fmt.Fprintf(w, "  task %s\t%s\t%s\t%s\n", task.ID, task.Status, orDash(task.Address), orDash(task.Target))
	}
	w.Flush()
}
