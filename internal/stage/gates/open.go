package gates

import (
	"fmt"

	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/metrics"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// openReader opens what a gate reads. It makes no call.
func openReader(s *step.Step, g appfile.Gate) (reader, error) {
	switch from := g.Read; {
	case from.Signal != nil:
		p := s.Plan
		groups, ok := metrics.GroupsOf(p.Listeners[0], p.Primary.ARN, p.Canary.ARN)
		if !ok {
			return nil, fmt.Errorf("gate %s: %s is no listener of an Application Load Balancer", g.Name, p.Listeners[0])
		}
		return signalReader{step.SharedMetrics(s.Account, s.Clock), groups, metrics.Signal(*from.Signal)}, nil
	}
	return nil, fmt.Errorf("gate %s reads nothing", g.Name)
}
