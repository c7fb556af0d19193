package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/autoscaling"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// scalingReport is a scalable target.
type scalingReport struct {
	sluice.Scalable
	Before string `json:"was,omitempty"` // suspensions before a deployment suspended all
}

// addScaling reads the scalable targets. It adds none if the role may not read them.
func (r serviceReader) addScaling(ctx context.Context) error {
	t := r.report
	all, err := autoscaling.Service{API: r.account.Scaling(), Cluster: t.Cluster, Name: t.Service}.Observe(ctx)
	if errors.Is(err, sluice.ErrNoPermission) {
		return nil
	}
	tag := t.Tags[plan.ScalingTag]
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
