package rehearse

import (
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// TaskChecks checks how often standalone tasks run.
type TaskChecks struct {
	env        *Environment
	report     *Report
	deployment *Deployment
	ByStarter  map[string][]*world.Task // standalone tasks, by startedBy
}

// checkRunOnce checks that a task runs once for each deployment, or as often as requested (P5).
func (c *TaskChecks) checkRunOnce(t *world.Task) {
	if t.Service != nil || t.StartedBy == "" || slices.Contains(c.ByStarter[t.StartedBy], t) {
		return
	}
	all := append(c.ByStarter[t.StartedBy], t)
	if most := c.expectedTasks(t.StartedBy); len(all) > most {
		c.report.AddViolation("P5", "%d tasks of %s were started instead of %d: %s", len(all), t.StartedBy, most,
			t.ID)
	}
	c.ByStarter[t.StartedBy] = all
}

// expectedTasks returns how many tasks a stage must start, by their startedBy.
func (c *TaskChecks) expectedTasks(by string) int {
	_, stage, _ := strings.Cut(by, "/")
	if stage == "run" {
		return c.env.Case.Job.TaskCount()
	}
	if !c.env.Case.Generated {
		for _, s := range c.deployment.Plan.Stages {
			if t := s.Task; t != nil && plan.StepKey(t.When, t.Step) == stage {
				return t.Count
			}
		}
	}
	return 1
}
