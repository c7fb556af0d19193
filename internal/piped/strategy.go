package piped

import (
	"context"
	"fmt"
	"strings"

	"github.com/sluice-ecs/sluice/internal/piped/contract"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// DetermineStrategy chooses the pipeline whenever the running version would change in any way, with
// or without a new image. It uses only the files, and also works with the incomplete deployment
// that piped sends for a plan preview.
func (p *plugin) DetermineStrategy(_ context.Context,
	r *contract.DetermineStrategyRequest) (*contract.DetermineStrategyResponse, error) {
	pipeline := func(why string) (*contract.DetermineStrategyResponse, error) {
		return &contract.DetermineStrategyResponse{SyncStrategy: contract.SyncStrategy_PIPELINE, Summary: why}, nil
	}
	target, err := p.entry.loadApplication(r.GetInput().GetTargetDeploymentSource())
	if err != nil { // an error would end the planning without a reason; so the first stage fails with it
		why, _, _ := strings.Cut(err.Error(), "\n")
		return pipeline("The files cannot be deployed: " + why)
	}
	if r.GetInput().GetRunningDeploymentSource() == nil {
		return pipeline("Sync progressively: there is no earlier deployment")
	}
	running, err := p.entry.loadApplication(r.GetInput().GetRunningDeploymentSource())
	if err != nil {
		return pipeline("Sync progressively: the files of the running commit cannot be read: " + err.Error())
	}
	if changes := compareApplications(running.app, target.app); len(changes) > 0 {
		return pipeline("Sync progressively: " + changeSummary(changes))
	}
	return &contract.DetermineStrategyResponse{SyncStrategy: contract.SyncStrategy_QUICK_SYNC,
		Summary: "Quick sync: neither the task definition nor the service definition changed"}, nil
}

func changeSummary(changes []plan.Change) string {
	const most = 3
	var all []string
	for i, c := range changes {
		if i == most {
			all = append(all, fmt.Sprintf("and %d more", len(changes)-most))
			break
		}
		all = append(all, fmt.Sprintf("%s: %s → %s", c.Path, c.Have, c.Want))
	}
	return strings.Join(all, ", ")
}
