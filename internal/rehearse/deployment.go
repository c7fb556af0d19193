package rehearse

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// Deployment is the rehearsed deployment.
type Deployment struct {
	ID        string     // empty before it is recorded
	Plan      *plan.Plan // nil before it is made
	WasPaused bool       // sluice paused it

	application *appfile.Application
	startedAt   time.Time
}

// isNewRevision reports whether the deployment deploys another revision than the one that served.
func (d *Deployment) isNewRevision() bool { return d.Plan.From != d.Plan.To }

// shareOf returns the planned share of a stage: "2 ECS_TRAFFIC_ROUTING".
func (d *Deployment) shareOf(stage string) *plan.Share {
	number, _, _ := strings.Cut(stage, " ")
	n, err := strconv.Atoi(number)
	if err != nil || n > len(d.Plan.Stages) {
		return nil
	}
	return d.Plan.Stage(n - 1).Share
}

// plannedWrites returns the writes that the stage of an action may make.
func (d *Deployment) plannedWrites(action sluice.ActionID) []sluice.Write {
	parts := strings.Split(string(action), "/")
	if len(parts) > 1 {
		if n, err := strconv.Atoi(strings.Fields(parts[1] + " x")[0]); err == nil && n <= len(d.Plan.Stages) {
			return append(slices.Clone(d.Plan.Stage(n).Writes), d.Plan.Finish...)
		}
	}
	return nil
}

// stepFamilies returns the families of the definitions of a user's own steps.
func (d *Deployment) stepFamilies() (all []string) {
	for _, s := range append(append([]appfile.Step{}, d.application.Before...), d.application.After...) {
		if s.Task != nil {
			all = append(all, *s.Task.Input.Family)
		}
	}
	return all
}
