package deploy

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// registerScalingFlags adds the flags for auto scaling. It accepts the spelling "autoscaling"
// too.
func registerScalingFlags(c *cobra.Command, s *appfile.Scaling) {
	f := c.Flags()
	f.BoolVar(&s.Suspend, "suspend-auto-scaling", false,
		"suspend auto scaling during the deployment, and restore its previous state afterwards")
	f.BoolVar(&s.Resume, "resume-auto-scaling", false,
		"resume all of auto scaling at the end of the deployment, whatever its state before")
	f.Var(countFlag(&s.Min), "auto-scaling-min", "minimum tasks of auto scaling from now on")
	f.Var(countFlag(&s.Max), "auto-scaling-max", "maximum tasks of auto scaling from now on")
	f.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(strings.Replace(name, "autoscaling", "auto-scaling", 1))
	})
}

// checkBounds returns an error if the minimum is above the maximum. It checks services without auto
// scaling too.
func checkBounds(s appfile.Scaling) error {
	if s.Min == nil || s.Max == nil || *s.Min <= *s.Max {
		return nil
	}
	return &sluice.Error{Op: "set auto scaling", Err: fmt.Errorf("the minimum of %d is above the maximum of %d", *s.Min,
		*s.Max),
		Next: "give an --auto-scaling-min that is not above --auto-scaling-max"}
}

// refuseSuspendedScaling returns an error if --no-wait would leave auto scaling suspended until a
// later sluice resume. --leave-suspended allows that.
func refuseSuspendedScaling(pl *plan.Plan, noWait bool) error {
	if s := pl.Scaling; !noWait || s == nil || !s.Suspend || s.KeepSuspended {
		return nil
	}
	return &sluice.Error{Op: "suspend auto scaling", Resource: pl.Cluster + "/" + pl.Service,
		Err:  errors.New("--no-wait exits before the deployment ends, so auto scaling would stay suspended"),
		Next: "leave --no-wait out, or give --leave-suspended and run sluice resume later to restore it"}
}
