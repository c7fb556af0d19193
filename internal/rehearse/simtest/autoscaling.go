package simtest

import (
	"fmt"
	"time"

	"github.com/sluice-ecs/sluice/awssim/autoscaler"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/rehearse"
	"github.com/sluice-ecs/sluice/internal/rehearse/shape"
)

// writeSuspend writes suspendAutoScaling to the application file.
func (d *draft) writeSuspend(c rehearse.Case) {
	if c.Suspend {
		writeLine(&d.app, "suspendAutoScaling: true")
	}
}

// generateScaling generates auto scaling that is steady, about to scale in, or about to scale out,
// and whether the deployment suspends it.
func (d *random) generateScaling(c *rehearse.Case) {
	n := c.World.Tasks
	c.World.Scaling = shape.Scaling{Min: 1 + d.upTo(n-1), Max: n + d.upTo(2*n),
		Load:            []int{shape.TargetCPU, shape.TargetCPU, 20, 95}[d.upTo(3)],
		SuspendedBefore: d.oneOf("", "", "in", "out+scheduled", "in+out+scheduled"),
		Since:           d.oneDuration(0, 2*time.Minute, 14*time.Minute)}
	c.Suspend = d.chance(65)
}

// resumeScaling is a person who resumes all of auto scaling.
func (f *simulation) resumeScaling() {
	f.env.ActOutside(func(tx *world.Tx) {
		for _, t := range autoscaler.StateOf(tx).Targets.Values() {
			t.Suspended = autoscaler.Suspended{}
		}
		f.rehearsal.Scaling.Accept(tx)
	})
}

// scalingFault returns a fault of the calls on auto scaling.
func (d *random) scalingFault() string {
	on := d.oneOf("application-autoscaling:*", "application-autoscaling:RegisterScalableTarget",
		"application-autoscaling:DescribeScalableTargets")
	return []string{
		fmt.Sprintf("throttle %s p=0.%d", on, 1+d.upTo(3)), fmt.Sprintf("5xx %s p=0.2", on),
		fmt.Sprintf("lost-reply %s times=%d", on, 1+d.upTo(2)),
		fmt.Sprintf("no-send %s p=0.2", on),
		fmt.Sprintf("stale application-autoscaling:DescribeScalableTargets by=%ds p=0.5", 1+d.upTo(4)),
		fmt.Sprintf("throttle %s for=%ds", on, 1+d.upTo(200)),
	}[d.upTo(5)]
}
