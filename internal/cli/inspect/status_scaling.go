package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/autoscaling"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// scalingReport is a scalable target.
type scalingReport struct {
	sluice.Scalable
	Before string `json:"was,omitempty"` // suspensions before a deployment suspended all
}

// addScaling reads the scalable targets. It adds none if the role may not read them.
func (t *ServiceReport) addScaling(ctx context.Context, a *account.Account, s StatusTarget,
	live *ecs.ServiceState) error {
	all, err := autoscaling.Service{API: a.Scaling(), Cluster: s.cluster, Name: s.service}.Observe(ctx)
	if errors.Is(err, sluice.ErrNoPermission) {
		return nil
	}
	tag := live.Tags[plan.ScalingTag]
	for i, was := range plan.TargetsBefore(all, tag) {
		x := scalingReport{Scalable: all[i]}
		if tag != "" && all[i].Suspended == sluice.AllSuspended {
			x.Before = was.Suspended.String()
		}
		t.Scaling = append(t.Scaling, x)
	}
	return err
}

func (v serviceView) writeScaling(w io.Writer, t *ServiceReport) {
	for _, s := range t.Scaling {
		line := fmt.Sprintf("auto scaling: %d to %d tasks", s.Min, s.Max)
		if s.Suspended != (sluice.Suspension{}) {
			line += ", " + v.Warn("suspended: "+s.Suspended.String())
		}
		if s.Before != "" {
			line += " (by a deployment; before it: " + s.Before + ")"
		}
		fmt.Fprintln(w, line)
	}
}
