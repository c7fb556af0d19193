package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/autoscaling"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// scalingFlags are what can be asked of auto scaling. The spelling "autoscaling"
// is taken too.
func scalingFlags(c *cobra.Command, s *appfile.Scaling) {
	f := c.Flags()
	f.BoolVar(&s.Suspend, "suspend-auto-scaling", false, "suspend auto scaling while the deployment runs, and give it back as it was in the end")
	f.BoolVar(&s.Resume, "resume-auto-scaling", false, "in the end nothing of auto scaling is suspended, whatever was before")
	f.Var(countFlag{&s.Min}, "auto-scaling-min", "least tasks of auto scaling from now on")
	f.Var(countFlag{&s.Max}, "auto-scaling-max", "most tasks of auto scaling from now on")
	f.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(strings.Replace(name, "autoscaling", "auto-scaling", 1))
	})
}

// checkBounds refuses bounds that exclude each other, also of a service that nothing
// scales yet.
func checkBounds(s appfile.Scaling) error {
	if s.Min == nil || s.Max == nil || *s.Min <= *s.Max {
		return nil
	}
	return &sluice.Error{Op: "set auto scaling", Err: fmt.Errorf("the minimum of %d is above the maximum of %d", *s.Min, *s.Max),
		Next: "give --auto-scaling-min a number up to that of --auto-scaling-max"}
}

// leavesSuspended refuses to leave a deployment alone that would keep auto scaling
// suspended until somebody comes back to it.
func leavesSuspended(pl *plan.Plan, noWait bool) error {
	if s := pl.Scaling; !noWait || s == nil || !s.Suspend || s.Leave {
		return nil
	}
	return &sluice.Error{Op: "suspend auto scaling", Resource: pl.Cluster + "/" + pl.Service,
		Err:  errors.New("with --no-wait nobody is there to give it back in the end"),
		Next: "leave --no-wait out; or give --leave-suspended and run sluice resume later, which gives it back"}
}

// treeScaling is a scalable target.
type treeScaling struct {
	sluice.Scalable
	Was string `json:"was,omitempty"` // what was suspended before a deployment suspended all
}

// scaling reads the scalable targets; who may not read them does without.
func (t *tree) scaling(ctx context.Context, a *account.Account, s subject, live *ecs.Live) error {
	all, err := autoscaling.Service{API: a.Scaling(), Cluster: s.cluster, Name: s.service}.Observe(ctx)
	if sluice.KindOf(err) == sluice.Denied {
		return nil
	}
	tag := live.Tags[plan.ScalingTag]
	for i, was := range plan.Before(all, tag) {
		x := treeScaling{Scalable: all[i]}
		if tag != "" && all[i].Suspended == sluice.AllSuspended {
			x.Was = was.Suspended.String()
		}
		t.Scaling = append(t.Scaling, x)
	}
	return err
}

func (v treeView) scaling(w io.Writer, t *tree) {
	for _, s := range t.Scaling {
		line := fmt.Sprintf("auto scaling: %d to %d tasks", s.Min, s.Max)
		if s.Suspended != (sluice.Suspension{}) {
			line += ", " + v.warn("suspended: "+s.Suspended.String())
		}
		if s.Was != "" {
			line += " (by a deployment; before it: " + s.Was + ")"
		}
		fmt.Fprintln(w, line)
	}
}
