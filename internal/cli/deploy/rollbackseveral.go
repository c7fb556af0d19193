package deploy

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/session"
)

// rollBackSeveral rolls several deployments or services back, concurrently. On a terminal, it first shows the plan of each
// and asks once. A rollback that fails does not stop the others.
func (p *program) rollBackSeveral(ctx context.Context, paths []string, o rollbackOptions) error {
	shows := session.Named{Paths: paths, IsGiven: true, AreSeveral: true}
	show := func(ctx context.Context, s *session.Session, path string, given bool) (string, error) {
		dry := o
		dry.dry = true
		return "planned", (&rollbackRun{program: &program{Session: s}, path: path, given: given, options: dry}).execute(ctx)
	}
	if o.dry {
		return shows.Run(ctx, p.Session, "rollback", show)
	}
	if !o.force && p.Flags.Output == session.Text && p.Env.IsTerminal(p.Env.Out) && p.Env.IsTerminal(p.Env.Err) {
		err := shows.Run(ctx, p.Session, "rollback", show)
		var ended session.ExitStatus
		if err != nil && !errors.As(err, &ended) {
			return err
		}
		if err := p.Env.Confirm(ctx, fmt.Sprintf("roll back %d services", len(paths)), "yes"); err != nil {
			return err
		}
	}
	jobs := make([]*job, len(paths))
	first := map[string]string{} // service → path
	for i, path := range paths {
		service := p.rollbackService(ctx, path)
		if other := first[service]; other != "" && service != "" {
			return &sluice.Error{Op: "roll back", Resource: service, Err: fmt.Errorf("%s and %s name the same service", other, path),
				Next: "name each service once"}
		}
		first[service] = path
		jobs[i] = &job{path: path, name: path, service: cmp.Or(service, "-"), start: func(ctx context.Context, p *program) error {
			return (&rollbackRun{program: p, path: path, given: true, options: o}).execute(ctx)
		}}
	}
	return (&severalRun{program: p, command: "rollback", jobs: jobs}).run(ctx, len(jobs))
}

// rollbackService returns cluster/service of what a path names, or "" if its files or the journal do not say. The
// rollback then fails, with the reason.
func (p *program) rollbackService(ctx context.Context, path string) string {
	if of, isService := p.Env.Disk.ServiceAt(path); isService {
		return of.String()
	}
	if !session.IsDeploymentID(path) {
		app, err := p.LoadNames(path)
		if err != nil {
			return ""
		}
		return app.ClusterName() + "/" + session.ServiceOrGroup(app)
	}
	j, err := p.FindJournal()
	if err != nil || j == nil {
		return ""
	}
	defer j.Close()
	d, err := p.Deployments(j).ByID(ctx, path)
	if err != nil {
		return ""
	}
	return d.Cluster + "/" + d.Service
}
