package show

import (
	"fmt"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/view"
)

func NoChanges(pl *plan.Plan) string {
	if !pl.Mode().HasService() {
		return fmt.Sprintf("No changes: %s is registered, as the files specify.", pl.To)
	}
	text := fmt.Sprintf("No changes: %s/%s runs %s, as the files specify", pl.Cluster, pl.Service, pl.From)
	if pl.Callers.IsUnused() {
		return text + "; " + view.NoRequests
	}
	return text + "."
}

// unchangedText describes what sluice deploy would do if the plan has no changes.
func unchangedText(p *plan.Plan) string {
	now := p.Current
	switch {
	case now == nil || now.Does == plan.DoesNothing:
		return ""
	case now.Does == plan.DoesNotRun && p.AsksNoTasks:
		return fmt.Sprintf("%s/%s has 0 tasks, as requested\n", p.Cluster, p.Service)
	case now.Does == plan.DoesNotRun:
		return fmt.Sprintf("sluice deploy would change nothing and exit with %d: %s\n", sluice.ExitUndecided,
			now.Detail)
	case now.Outcome != "":
		return fmt.Sprintf("sluice deploy would change nothing and exit with %d: %s: %s\n", now.Outcome.ExitCode(),
			now.Outcome, now.Detail)
	}
	return fmt.Sprintf("sluice deploy would follow the running deployment of %s: %s\n", p.To, now.Detail)
}
