package tasks

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
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

// target is the tasks of an application: those of its service, or those of the family without a service.
type target struct {
	app     *appfile.Application
	account *account.Account
	clock   clock.Clock
	service ecs.Service // only its cluster, if the application is a standalone task
}

// open reads the files of the application.
func (p *program) open(ctx context.Context, path string) (*target, error) {
	app, err := p.LoadApplication(path)
	if err != nil {
		return nil, err
	}
	t := &target{app: app}
	if t.account, t.clock, err = p.OpenAccount(ctx, app.Region); err != nil {
		return nil, err
	}
	t.service = ecs.Service{API: t.account.ECS(), Cluster: session.ClusterName(app)}
	if app.Service != nil {
		t.service.Name = *app.Service.Input.ServiceName
	}
	return t, nil
}

// list returns the tasks that are not to be stopped, newest first.
func (t *target) list(ctx context.Context) ([]ecs.Task, error) {
	if t.app.Service == nil {
		return t.service.TasksOfFamily(ctx, *t.app.Task.Input.Family)
	}
	all, err := t.service.Tasks(ctx)
	return all, survey.NameMissing(ctx, t.service, err)
}
