package deploy

import (
	"context"
	"fmt"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/inspect"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/cli/show"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage"
)

// finishUnchanged ends a deploy whose plan has no changes. It succeeds only if the verdict of `sluice
// wait` is success. It waits for the verdict on a deployment that still runs.
func (p *program) finishUnchanged(ctx context.Context, pre *preparedPlan, noWait bool) error {
	now := pre.plan.Current
	p.warnMovedTags(pre.plan)
	switch {
	case now == nil || now.Does == plan.DoesNothing:
		return p.reportNoChanges(pre, runEnd{result: show.NoChanges(pre.plan)})
	case now.Does == plan.DoesNotRun && pre.plan.AsksNoTasks:
		return p.reportNoChanges(pre, runEnd{result: fmt.Sprintf("No changes: %s has 0 tasks, as requested",
			pre.serviceName())})
	case now.Does == plan.DoesNotRun:
		return p.reportNoChanges(pre, runEnd{result: fmt.Sprintf("No changes: %s has %s, as the files specify, but %s",
			pre.serviceName(), pre.plan.To, now.Detail), Next: now.Next, exit: sluice.ExitUndecided})
	}
	if noWait && now.Outcome == "" {
		return p.reportNoChanges(pre, runEnd{result: fmt.Sprintf("No changes: the deployment of %s to %s still runs: %s",
			pre.serviceName(), pre.plan.To, now.Detail),
			Next: fmt.Sprintf("run sluice wait --cluster %s --service %s to wait for its result", pre.plan.Cluster,
				pre.plan.Service)})
	}
	return p.followCurrent(ctx, pre)
}

// warnMovedTags says which tags name another image than the tasks run, although the files change nothing.
func (p *program) warnMovedTags(pl *plan.Plan) {
	for _, text := range pl.MovedTags {
		if p.Flags.Output == session.JSON {
			p.Terminal().NewHistoryRenderer(pl.Application).ShowEvent(sluice.Seal("", "", sluice.Noted{Message: "warning: " + text}))
			continue
		}
		p.printWarning("", text)
	}
}

// reportNoChanges reports, as text or as an event, that there are no changes.
func (p *program) reportNoChanges(pre *preparedPlan, e runEnd) error {
	e.service, e.runs = pre.serviceName(), pre.plan.To
	if p.Flags.Output == session.JSON {
		p.Terminal().NewHistoryRenderer(pre.plan.Application).ShowEvent(sluice.Seal("", "", sluice.Noted{Message: e.result}))
		e.Next = ""
	}
	return p.reportEnd(e)
}

// followCurrent waits for the verdict on the deployment that AWS runs already. The exit code is that
// of `sluice wait`.
func (p *program) followCurrent(ctx context.Context, pre *preparedPlan) error {
	if p.Flags.Output == session.Text {
		fmt.Fprintf(p.Env.Err, "No changes: the files specify %s; following its running deployment\n", pre.plan.To)
	}
	return inspect.WaitFor(ctx, p.Session, pre.account, pre.clock, stage.CurrentTarget(pre.plan),
		inspect.Goal{Outcome: sluice.Succeeded})
}
