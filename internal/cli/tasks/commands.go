package tasks

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/survey"
)

// program is one run of a command of this package.
type program struct{ *session.Session }

// Commands returns the commands of this package, in the order of sluice --help.
func Commands(s *session.Session) []*cobra.Command {
	p := &program{s}
	return []*cobra.Command{p.newTasksCommand(), p.newLogsCommand(), p.newExecCommand()}
}

// target is the tasks of an application or of a service: those of the service, or those of the family without a service.
type target struct {
	program *program
	account *account.Account
	clock   clock.Clock
	service ecs.Service // only its cluster, if the application is a standalone task
	family  string      // of a standalone task
	named   bool        // the command line names the service, without files
}

// open returns the tasks of the service that path names as CLUSTER/SERVICE, or of the application in its files.
func (p *program) open(ctx context.Context, path string) (*target, error) {
	if of, isService := p.Env.Disk.ServiceAt(path); isService {
		t := &target{program: p, named: true}
		var err error
		if t.account, t.clock, err = p.OpenAccount(ctx, "", ""); err != nil {
			return nil, err
		}
		t.service = ecs.Service{API: t.account.ECS(), Cluster: of.Cluster, Name: of.Name}
		return t, nil
	}
	app, err := p.LoadNames(path)
	if err != nil {
		return nil, err
	}
	t := &target{program: p}
	if t.account, t.clock, err = p.OpenAccountOf(ctx, app); err != nil {
		return nil, err
	}
	t.service = ecs.Service{API: t.account.ECS(), Cluster: app.ClusterName()}
	if app.Service == nil {
		t.family = *app.Task.Input.Family
	} else {
		t.service.Name = *app.Service.Input.ServiceName
	}
	return t, nil
}

// list returns the tasks that are not to be stopped, newest first.
func (t *target) list(ctx context.Context) ([]ecs.Task, error) {
	if t.family != "" {
		return t.service.TasksOfFamily(ctx, t.family)
	}
	all, err := t.service.Tasks(ctx)
	if err == nil && len(all) == 0 {
		return nil, t.checkNotDeleted(ctx)
	}
	if err = survey.NameMissing(ctx, t.service, err); t.named {
		err = t.program.Env.Disk.NoSuchService(session.Service{Cluster: t.service.Cluster, Name: t.service.Name}, err)
	}
	return all, err
}

// checkNotDeleted returns an error if the service was deleted: ECS lists no tasks of it, as of one that has none. A read
// that is not permitted shows nothing. While its tasks stop, it is DRAINING.
func (t *target) checkNotDeleted(ctx context.Context) error {
	live, err := t.service.Observe(account.WithOptionalReads(ctx))
	if err != nil || live == nil || live.Status == "ACTIVE" {
		return nil
	}
	return &sluice.Error{Op: "read the tasks", Resource: t.service.Resource(), Kind: sluice.NotFound,
		Err: errors.New("the service was deleted"), Next: "run sluice deploy to create the service again"}
}
