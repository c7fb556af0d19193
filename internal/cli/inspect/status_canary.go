package inspect

import (
	"bytes"
	"context"
	"fmt"

	"github.com/sluice-ecs/sluice"
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
func (r serviceReader) addCanaryService(ctx context.Context) error {
	t, hand := r.report, r.client
	hand.Name = plan.CanaryServiceName(hand.Name)
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
	for _, task := range tasks {
		t.CanaryService.Tasks = append(t.CanaryService.Tasks, newTaskReport(task))
	}
	if r.target.groups.Canary == "" {
		return nil
	}
	targets, err := r.readHealth(ctx, r.target.groups.Canary)
	for _, target := range targets {
		setTarget(t.CanaryService.Tasks, target)
	}
	return err
}

func (v serviceView) writeCanaryService(b *bytes.Buffer, t *ServiceReport) {
	c := t.CanaryService
	if c == nil {
		return
	}
	fmt.Fprintf(b, "canary service %s: %s, %s, %s, %d pending (created by %s)\n",
		v.Bold(t.Cluster+"/"+c.Service), c.Status, c.Revision, sluice.RunningText(c.Running, c.Desired), c.Pending, c.CreatedBy)
	writeTasks(b, c.Tasks)
}
