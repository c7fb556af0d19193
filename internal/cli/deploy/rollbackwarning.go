package deploy

import (
	"context"

	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/journal"
)

// warnFormer says before a rollback to a revision that it may not work: its own deployment failed, or AWS still
// lists tasks of it that failed again and again, and none that works. What cannot be read is no reason against a
// rollback.
func (r *rollbackRun) warnFormer(ctx context.Context, a *account.Account, c clock.Clock, of journal.Filter,
	revision string, hasFailed bool) {
	text := "the deployment of " + revision + " failed, and this rollback restores that version: it may never have worked"
	if !hasFailed {
		service := ecs.Service{API: a.ECS(), Cluster: of.Cluster, Name: of.Service}
		v, err := service.ReadSurvival(account.WithOptionalReads(ctx), c.Now(), revision, nil)
		if err != nil || v.Works {
			return
		}
		text = "this rollback restores " + revision + ", and the tasks of that version failed: " + v.Cause.String()
	}
	r.warn(text)
}

// warn prints a warning for people.
func (r *rollbackRun) warn(text string) {
	if r.program.Flags.Output != session.JSON {
		r.program.printWarning("", text)
	}
}
