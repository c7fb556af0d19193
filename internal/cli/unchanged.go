package cli

import (
	"context"
	"fmt"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage"
	"github.com/sluice-ecs/sluice/internal/watch"
)

// finishUnchanged ends a deploy whose plan has no changes. It succeeds only if the verdict of `sluice
// wait` is success. It waits for the verdict on a deployment that still runs.
func (p *program) finishUnchanged(ctx context.Context, pre *preparedPlan, noWait bool) error {
	now := pre.plan.Current
	switch {
	case now == nil || now.Does == plan.DoesNothing:
		return p.printNoChanges(noChangesText(pre.plan), sluice.ExitDone)
	case now.Does == plan.DoesNotRun:
		err := p.printNoChanges(fmt.Sprintf("No changes: %s has %s, as the files specify, but %s", pre.serviceName(),
			pre.plan.To, now.Detail), sluice.ExitUndecided)
		p.printNext(now.Next)
		return err
	}
	if noWait && now.Outcome == "" {
		err := p.printNoChanges(fmt.Sprintf("No changes: the deployment of %s to %s still runs: %s", pre.serviceName(),
			pre.plan.To, now.Detail), sluice.ExitDone)
		p.printNext(fmt.Sprintf("run sluice wait --cluster %s --service %s to wait for its result", pre.plan.Cluster,
			pre.plan.Service))
		return err
	}
	return p.followCurrent(ctx, pre)
}

// printNoChanges prints, as text or as an event, that there are no changes.
func (p *program) printNoChanges(message string, with int) error {
	if p.flags.output == jsonOut {
		r := &jsonLines{w: p.env.Out}
		r.showEvent(sluice.Seal("", "", sluice.Noted{Message: message}))
		return exitWith(with)
	}
	p.printResult(message)
	return exitWith(with)
}

// printNext prints the next step in text output.
func (p *program) printNext(next string) {
	if next != "" && p.flags.output == textOut {
		fmt.Fprintln(p.env.Err, "next: "+next)
	}
}

func noChangesText(pl *plan.Plan) string {
	if !pl.Mode().HasService() {
		return fmt.Sprintf("No changes: %s is registered, as the files specify.", pl.To)
	}
	return fmt.Sprintf("No changes: %s/%s runs %s, as the files specify.", pl.Cluster, pl.Service, pl.From)
}

// followCurrent waits for the verdict on the deployment that AWS runs already. The exit code is that
// of `sluice wait`.
func (p *program) followCurrent(ctx context.Context, pre *preparedPlan) error {
	if p.flags.output == textOut {
		fmt.Fprintf(p.env.Err, "No changes: the files specify %s; following its running deployment\n", pre.plan.To)
	}
	v := p.newWaitView(false, pre.clock.Now())
	var w waitOutcome
	w.update, w.err = watch.New(pre.account, pre.clock).Wait(ctx, stage.CurrentTarget(pre.plan), v.handleUpdate)
	v.printResults([]waitOutcome{w})
	return waitExit(ctx, []waitOutcome{w})
}

// unchangedText describes what sluice deploy would do if the plan has no changes.
func unchangedText(p *plan.Plan) string {
	now := p.Current
	switch {
	case now == nil || now.Does == plan.DoesNothing:
		return ""
	case now.Does == plan.DoesNotRun:
		return fmt.Sprintf("sluice deploy would change nothing and exit with %d: %s\n", sluice.ExitUndecided,
			now.Detail)
	case now.Outcome != "":
		return fmt.Sprintf("sluice deploy would change nothing and exit with %d: %s: %s\n", now.Outcome.ExitCode(),
			now.Outcome, now.Detail)
	}
	return fmt.Sprintf("sluice deploy would follow the running deployment of %s: %s\n", p.To, now.Detail)
}
