package inspect

import (
	"bytes"
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// canaryReport is the canary service of a service that ECS rolls.
type canaryReport struct {
	Service   string       `json:"service"`
	Status    string       `json:"status"`
	CreatedBy string       `json:"madeBy"` // the deployment that created it
	Revision  string       `json:"revision"`
	Desired   int          `json:"desired"`
	Running   int          `json:"running"`
	Pending   int          `json:"pending"`
	Tasks     []taskReport `json:"tasks,omitempty"`

	isDeploying bool
}

// addCanaryService adds the canary service, if it exists and sluice created it.
func (t *ServiceReport) addCanaryService(ctx context.Context, a *account.Account, s StatusTarget) error {
	hand := ecs.Service{API: a.ECS(), Cluster: s.cluster, Name: plan.CanaryServiceName(s.service)}
	live, err := hand.Observe(ctx)
	if err != nil || !live.IsActive() && !live.IsDraining() || live.CreatedBy() == "" {
		return err
	}
	_, revision := live.PrimaryDeployment()
	t.CanaryService = &canaryReport{Service: hand.Name, Status: live.Status, CreatedBy: live.CreatedBy().Deployment(),
		Revision: revision,
		Desired:  live.Desired, Running: live.Running, Pending: live.Pending, isDeploying: live.DeploymentInProgress()}
	tasks, err := hand.Tasks(ctx)
	if err != nil {
		return err
	}
	states, err := t.readTargetStates(ctx, a, s.canary)
	for _, task := range tasks {
		t.CanaryService.Tasks = append(t.CanaryService.Tasks, taskReport{ID: task.ID, Status: task.Status,
			Address: task.Address, Target: states[task.Address]})
	}
	return err
}

// readTargetStates returns the states of a group's targets by address. It returns none if group is
// empty.
func (t *ServiceReport) readTargetStates(ctx context.Context, a *account.Account, group string) (map[string]string, error) {
	if group == "" {
		return nil, nil
	}
	targets, err := t.readHealth(ctx, a, group)
	states := make(map[string]string, len(targets))
	for _, target := range targets {
		states[target.ID] = targetText(target)
	}
	return states, err
}

func (v serviceView) writeCanaryService(b *bytes.Buffer, t *ServiceReport) {
	c := t.CanaryService
	if c == nil {
		return
	}
	fmt.Fprintf(b, "canary service %s: %s, %s, %s, %d pending (created by %s)\n",
		v.Bold(t.Cluster+"/"+c.Service), c.Status, c.Revision, sluice.RunningText(c.Running, c.Desired), c.Pending, c.CreatedBy)
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, task := range c.Tasks {
		fmt.Fprintf(w, "  task %s\t%s\t%s\t%s\n", task.ID, task.Status, orDash(task.Address), orDash(task.Target))
	}
	w.Flush()
}
