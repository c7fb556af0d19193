package deploy

import (
	"context"
	"fmt"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
)

// finishHandedOver ends a deployment that was handed over to AWS with --no-wait and has succeeded
// since. No sluice resume is then needed before the next deployment. over is false if the
// deployment still runs, did not succeed, or is run by another process.
func (c *serviceConflicts) finishHandedOver(ctx context.Context, d journal.Deployment) (over bool, err error) {
	to, err := handedOverTo(ctx, c.journal, d)
	if err != nil || to == "" {
		return false, err
	}
	if runs, err := c.program.Env.RunningProcess(ctx, c.journal, d); err != nil || runs != "" {
		return false, err
	}
	ended, err := c.program.NewEngine(c.pre.account, c.pre.clock, c.journal).Run(ctx, d.ID,
		engine.Options{NoWait: true})
	if err != nil || ended.Outcome != sluice.Succeeded {
		return false, err
	}
	fmt.Fprintf(c.program.Env.Err, "deployment %s, handed over to %s, has succeeded\n", d.ID, to)
	return true, c.pre.readAndPlan(ctx)
}

// handedOverTo returns ECS or CodeDeploy if a deployment was handed over with --no-wait, or the
// empty string.
func handedOverTo(ctx context.Context, j *journal.Journal, d journal.Deployment) (string, error) {
	if d.State != journal.Waiting {
		return "", nil
	}
	events, err := j.Events(ctx, d.ID, 0, 0)
	for i := len(events) - 1; err == nil && i >= 0; i-- {
		if w, ok := events[i].Open().(sluice.Waiting); ok {
			return map[string]string{engine.HandedToECS: "ECS", engine.HandedToCodeDeploy: "CodeDeploy"}[w.For], nil
		}
	}
	return "", err
}
