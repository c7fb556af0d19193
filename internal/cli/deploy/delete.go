package deploy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/cli/show"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/upkeep"
)

// deleteFlags are the flags of sluice delete.
type deleteFlags struct {
	force     bool // without confirmation
	terminate bool // also with tasks
	dry       bool
}

func newDeleteCommand(p *program) *cobra.Command {
	var at session.ApplicationFlag
	var o deleteFlags
	c := &cobra.Command{
		Use:   "delete [DIR | -c FILE]",
		Short: "Delete a service",
		Long: `Delete the service of an application, after the name of the service is entered as a
confirmation. A service with a desired count above 0 is deleted only with --terminate,
which stops its tasks; their requests are lost. A service that a deployment owns is not
deleted. The task definitions, load balancers and target groups stay.`,
		Example: `  sluice delete examples/rolling
  sluice delete --terminate --force examples/rolling
  sluice delete --dry-run`,
		Args: session.AtMost(1),
		RunE: at.Run(func(c *cobra.Command, path string) error { return p.runDelete(c.Context(), path, o) }),
	}
	at.Register(c)
	c.Flags().BoolVar(&o.force, "force", false, "delete without confirmation")
	c.Flags().BoolVar(&o.terminate, "terminate", false, "also delete a service that has tasks, and stop them")
	c.Flags().BoolVar(&o.dry, "dry-run", false, "print what would be deleted and write nothing")
	return c
}

func (p *program) runDelete(ctx context.Context, path string, o deleteFlags) error {
	app, err := p.LoadApplication(path)
	if err != nil {
		return err
	}
	if app.Service == nil {
		return &sluice.Error{Op: "delete the service", Resource: app.File,
			Err: errors.New("the application is a standalone task, and has no service"), Next: "name an application with a service"}
	}
	a, c, err := p.OpenAccountOf(ctx, app)
	if err != nil {
		return err
	}
	service := ecs.Service{API: a.ECS(), Cluster: app.ClusterName(), Name: *app.Service.Input.ServiceName}
	live, err := service.Observe(ctx)
	if err != nil {
		return err
	}
	if !live.IsActive() {
		p.PrintResult("there is no service " + service.Resource())
		return nil
	}
	if err := p.refuseDelete(ctx, app, live, c, o); err != nil {
		return err
	}
	what := fmt.Sprintf("delete the service %s with %s", service.Resource(), sluice.Plural(live.Running+live.Pending, "task"))
	if o.dry {
		p.PrintResult("would " + what)
		return nil
	}
	if !o.force {
		if err := p.Env.Confirm(ctx, what, service.Name); err != nil {
			return err
		}
	}
	if err := upkeep.DeleteService(ctx, service, p.Env.NewAct("delete"), live.ARN, o.terminate); err != nil {
		return err
	}
	p.PrintResult("ECS deletes the service " + service.Resource())
	return nil
}

// refuseDelete returns an error if a deployment owns the service, or if it has tasks.
func (p *program) refuseDelete(ctx context.Context, app *appfile.Application, live *ecs.ServiceState, c clock.Clock,
	o deleteFlags) error {
	if err := p.refuseDeleteOwned(ctx, app, live, c.Now()); err != nil {
		return err
	}
	refuse := func(next, why string, args ...any) error {
		return deleteError(app, sluice.Conflict, next, why, args...)
	}
	if sets := len(live.Raw.TaskSets); sets > 0 && !o.terminate {
		return refuse("give --terminate, which deletes them too", "it has %s with %s, and ECS deletes no service with task sets",
			sluice.Plural(sets, "task set"), sluice.Plural(live.Running, "running task"))
	}
	if hasTasks := live.Desired > 0 || live.Running > 0; hasTasks && !o.terminate {
		return refuse("run sluice scale --tasks 0 first, or give --terminate", "it has a desired count of %d, and %s",
			live.Desired, sluice.Plural(live.Running, "running task"))
	}
	return nil
}

// refuseDeleteOwned returns an error if a deployment owns the service. It names commands for a deployment of this
// journal only: none of them finds another.
func (p *program) refuseDeleteOwned(ctx context.Context, app *appfile.Application, live *ecs.ServiceState,
	now time.Time) error {
	j, err := p.FindJournal()
	if err != nil {
		return err
	}
	if j != nil {
		defer j.Close()
	}
	open, err := p.Deployments(j).Open(ctx, journal.Filter{Cluster: app.ClusterName(),
		Service: session.ServiceOrGroup(app), Region: app.Region})
	if err != nil {
		return err
	}
	if len(open) > 0 {
		return deleteError(app, sluice.Overtaken, "end it first: "+endCommands(open[0], false), "deployment %s of it is %s",
			open[0].ID, open[0].State)
	}
	claim, err := plan.ParseClaim(live.ClaimValue())
	if err != nil || !claim.IsValidAt(now) {
		return nil // another tool's value is no claim
	}
	next := "wait for it to end or for its claim to expire, or end it with the journal that it was started with"
	if j != nil {
		switch _, err := j.Deployment(ctx, claim.Deployment); {
		case err == nil:
			next = "run sluice resume " + claim.Deployment + " to release the claim, or wait until it expires"
		case !errors.Is(err, journal.ErrNotFound):
			return err
		}
	}
	return deleteError(app, sluice.Overtaken, next, "deployment %s owns it until %s", claim.Deployment,
		show.FormatTime(claim.Until))
}

// deleteError returns the error of a service that is not deleted.
func deleteError(app *appfile.Application, kind sluice.Kind, next, why string, args ...any) error {
	return &sluice.Error{Op: "delete the service", Resource: app.ClusterName() + "/" + *app.Service.Input.ServiceName,
		Kind: kind, Err: fmt.Errorf(why, args...), Next: next}
}
