package deploy

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/journal"
)

// deploySeveral deploys several applications. It first reads and plans all of them, and writes only if
// all can be deployed.
func deploySeveral(ctx context.Context, p *program, paths []string, o deployOptions, f severalFlags) error {
	j, err := p.OpenJournalForWrite()
	if err != nil {
		return err
	}
	defer j.Close()
	all, err := prepareSeveral(ctx, p, j, paths, o)
	if err != nil {
		return err
	}
	jobs := make([]*job, len(all))
	limit := f.atOnce(len(all))
	for i, pre := range all {
		jobs[i] = &job{path: paths[i], name: pre.plan.Application, service: pre.serviceName(),
			start: func(ctx context.Context, p *program) error {
				if i >= limit { // others ran meanwhile
					if err := pre.readAndPlan(ctx); err != nil {
						return err
					}
				}
				return p.deployPrepared(ctx, j, pre, o)
			}}
	}
	r := &severalRun{program: p, command: "deploy", jobs: jobs, stopAtFailure: f.oneByOne && !f.keepGoing}
	return r.run(ctx, limit)
}

// prepareSeveral reads and plans all applications, without changes. If one of them cannot be deployed,
// it prints the problems of all and returns the worst exit code.
func prepareSeveral(ctx context.Context, p *program, j *journal.Journal, paths []string,
	o deployOptions) ([]*preparedPlan, error) {
	c, _, err := p.OpenClock()
	if err != nil {
		return nil, err
	}
	all, errs := make([]*preparedPlan, len(paths)), make([]error, len(paths))
	done := p.ShowCalls()
	session.EachAtOnce(c, len(paths), func(i int) {
		if ctx.Err() != nil {
			return
		}
		all[i], errs[i] = p.preparePlan(ctx, paths[i], o.plan)
		if errs[i] == nil {
			errs[i] = (&serviceConflicts{p, j, all[i], o.conflicts}).refuseConflicts(ctx)
		}
		if errs[i] == nil && all[i].plan.HasChanges() {
			errs[i] = refuseSuspendedScaling(all[i].plan, o.run.NoWait)
		}
	})
	done()
	if ctx.Err() != nil {
		p.PrintResult("stopped before any application was deployed")
		return nil, session.ExitStatus(sluice.ExitStopped)
	}
	refuseSameService(paths, all, errs)
	var codes []int
	for i, err := range errs {
		if err != nil {
			fmt.Fprintln(p.Env.Err, p.Paint.Bold(paths[i]+":"))
			p.PrintError(err)
			codes = append(codes, session.ExitCode(err))
		}
	}
	if len(codes) > 0 {
		fmt.Fprintf(p.Env.Err, "%d of %d applications cannot be deployed; nothing was written\n", len(codes), len(paths))
	}
	return all, session.ExitWith(sluice.WorstExit(codes...))
}

// refuseSameService sets an error for each application whose service an earlier one deploys too.
func refuseSameService(paths []string, all []*preparedPlan, errs []error) {
	first := map[string]string{} // service → path
	for i, pre := range all {
		if pre == nil || pre.plan == nil {
			continue
		}
		pl := pre.plan
		service := strings.Join([]string{pl.Account, pl.Region, pl.Cluster, pl.Service}, "/")
		if first[service] == "" {
			first[service] = paths[i]
			continue
		}
		errs[i] = &sluice.Error{Op: startOperation, Resource: pre.serviceName(),
			Err:  errors.New(first[service] + " deploys the same service in the same account and Region"),
			Next: "name one of the two folders, or correct the cluster or the service of one"}
	}
}
