package mode

import (
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
)

func TestScalingThatCannotBeReadIsNoMatterUnlessAskedFor(t *testing.T) {
	p := &plan.Plan{Cluster: "prod", Service: "web"}
	denied := plan.AWSState{Scaling: &plan.ScalingState{Denied: "AccessDeniedException"}}
	if err := planScaling(p, appfile.Scaling{}, denied); err != nil || p.Scaling != nil {
		t.Errorf("%v", err)
	}
	err := planScaling(p, appfile.Scaling{Suspend: true}, denied)
	if sluice.KindOf(err) != sluice.Denied ||
		!strings.Contains(sluice.NextStep(err), "application-autoscaling:DescribeScalableTargets") {
		t.Errorf("%v", err)
	}
}
