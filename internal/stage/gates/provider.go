package gates

import (
	"fmt"

	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/metrics"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// openSource opens a metric provider of the file.
func openSource(s *step.Step, p appfile.Provider) (metrics.Source, error) {
	if p.Type == "CLOUDWATCH" {
		return metrics.NewCloudWatch(p.Name, step.SharedMetrics(s.Account, s.Clock)), nil
	}
	return nil, fmt.Errorf("provider %s has the unknown type %s", p.Name, p.Type)
}
