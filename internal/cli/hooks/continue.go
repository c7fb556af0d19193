package hooks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/cli/inspect"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/pausehook"
	"github.com/sluice-ecs/sluice/internal/survey"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/watch"
)

// program is one run of a command of this package.
type program struct{ *session.Session }

// Commands returns the commands of this package.
func Commands(s *session.Session) []*cobra.Command {
	p := &program{s}
	return []*cobra.Command{p.newContinueCommand()}
}

// continueFlags are the flags of sluice continue.
type continueFlags struct {
	hook     string
	rollBack bool
	noWait   bool
	until    string
	timeout  time.Duration
}

func (p *program) newContinueCommand() *cobra.Command {
	var at session.ApplicationFlag
	var o continueFlags
	c := &cobra.Command{
		Use:   "continue [DIR | CLUSTER/SERVICE | -c FILE]",
		Short: "Continue a deployment that ECS has paused at a hook",
		Long: `Continue a deployment that ECS has paused: the service has the strategy BLUE_GREEN,
LINEAR or CANARY, and a lifecycle hook of type PAUSE waits for an answer. The deployment
may be of any tool. Then sluice continue waits for the verdict, as sluice wait does.

With --rollback, ECS rolls the deployment back instead. If several hooks wait, --hook
selects one: each of them must be answered.

An approval of sluice's own deployments is given with sluice approve.`,
		Example: `  sluice continue examples/rolling
  sluice continue prod/web                 without files
  sluice continue --no-wait
  sluice continue --wait-until paused      until the next pause
  sluice continue --rollback`,
		Args: session.AtMost(1),
		RunE: at.Run(func(c *cobra.Command, path string) error {
			return p.runContinue(c.Context(), path, c.Flags().Changed("timeout"), o)
		}),
	}
	at.Register(c)
	c.Flags().StringVar(&o.hook, "hook", "", "`ID` of the hook to answer (default: the only one that waits)")
	c.Flags().BoolVar(&o.rollBack, "rollback", false, "roll the deployment back instead")
	session.RegisterNoWait(c.Flags(), &o.noWait, "exit after the answer: ECS continues the deployment")
	session.RegisterWaitUntil(c, &o.until)
	c.Flags().DurationVar(&o.timeout, "timeout", time.Hour, "limit of the wait; the exit code is then 9")
	return c
}

func (p *program) runContinue(ctx context.Context, path string, hasTimeout bool, o continueFlags) error {
	of, err := p.openService(ctx, path)
	if err != nil {
		return err
	}
	if of.timeout > 0 && !hasTimeout {
		o.timeout = of.timeout
	}
	service := of.service
	rec, err := p.findPaused(ctx, of)
	if of.isNamed {
		err = p.Env.Disk.NoSuchService(session.Service{Cluster: service.Cluster, Name: service.Name}, err)
	}
	if err != nil {
		return err
	}
	hook, err := o.chooseHook(service, rec)
	if err != nil {
		return err
	}
	if err := pausehook.Answer(ctx, service, p.Env.NewAct("continue"), rec.ARN, hook, o.rollBack); err != nil {
		return err
	}
	if err := p.follow(ctx, of.account, of.clock, service, rec.ARN, hook, o); err != nil {
		return err
	}
	return p.printOpen(ctx, of)
}

// printOpen prints how to end a deployment of the journal that no process runs: the answer to its hook does not end it.
func (p *program) printOpen(ctx context.Context, of pausedService) error {
	return p.eachOpen(ctx, of, func(j *journal.Journal, d journal.Deployment) (bool, error) {
		runs, err := p.Env.RunningProcess(ctx, j, d)
		if err == nil && runs == "" {
			p.PrintNext("run sluice resume " + d.ID + " to end the deployment of sluice too")
		}
		return true, err
	})
}

// pausedService is a service whose deployment is to be continued.
type pausedService struct {
	account *account.Account
	clock   clock.Clock
	service ecs.Service
	timeout time.Duration // of its files; 0: they give none
	isNamed bool          // the command line names it as CLUSTER/SERVICE, without files
}

// openService returns the service that path names as CLUSTER/SERVICE, or that of the application in its files.
func (p *program) openService(ctx context.Context, path string) (of pausedService, err error) {
	if named, isService := p.Env.Disk.ServiceAt(path); isService {
		of.isNamed = true
		of.account, of.clock, err = p.OpenAccount(ctx, "", "")
		if err == nil {
			of.service = ecs.Service{API: of.account.ECS(), Cluster: named.Cluster, Name: named.Name}
		}
		return of, err
	}
	app, err := p.LoadNames(path)
	if err != nil {
		return of, err
	}
	if app.Service == nil {
		return of, &sluice.Error{Op: "continue", Resource: app.File,
			Err:  errors.New("the application is a standalone task, and has no service"),
			Next: "run sluice status for its tasks"}
	}
	if app.Format == appfile.Ecspresso {
		of.timeout = app.Timeout
	}
	of.account, of.clock, err = p.OpenAccountOf(ctx, app)
	if err == nil {
		of.service = ecs.Service{API: of.account.ECS(), Cluster: app.ClusterName(), Name: *app.Service.Input.ServiceName}
	}
	return of, err
}

// findPaused reads the current deployment of the service, which must wait for an answer.
func (p *program) findPaused(ctx context.Context, of pausedService) (*verdict.Record, error) {
	s := of.service
	refuse := func(why, next string) error {
		approval, err := p.awaitedApproval(ctx, of)
		if err != nil {
			return err
		}
		return &sluice.Error{Op: "continue", Resource: s.Resource(), Err: errors.New(why), Next: cmp.Or(approval, next)}
	}
	live, err := s.Observe(ctx)
	switch {
	case err != nil:
		return nil, survey.NameMissing(ctx, s, err)
	case live == nil:
		return nil, survey.NoServiceError(ctx, s, "correct the service's name, or run sluice deploy to create it")
	case live.CurrentDeployment() == "":
		return nil, refuse("ECS runs no deployment of this service", "run sluice status to see what is running")
	}
	rec, err := pausehook.ServiceDeployment(ctx, s, live.CurrentDeployment())
	switch {
	case err != nil:
		return nil, err
	case len(rec.AwaitedHooks()) == 0:
		return nil, refuse("no hook of its deployment waits for an answer",
			"run sluice status to see the deployment")
	}
	return rec, nil
}

// awaitedApproval returns the next step of a deployment of the journal that waits for an approval of sluice, or "".
func (p *program) awaitedApproval(ctx context.Context, of pausedService) (next string, err error) {
	err = p.eachOpen(ctx, of, func(j *journal.Journal, d journal.Deployment) (bool, error) {
		stage, waits, err := session.AwaitedApproval(ctx, j, d)
		if waits {
			next = fmt.Sprintf("run %s: the deployment waits for an approval of sluice, not for the answer to a hook",
				session.ApproveCommand(d.ID, stage))
		}
		return waits, err
	})
	return next, err
}

// eachOpen calls visit with each deployment of the service that has not ended in the journal, until it returns true.
func (p *program) eachOpen(ctx context.Context, of pausedService,
	visit func(*journal.Journal, journal.Deployment) (bool, error)) error {
	j, err := p.FindJournal()
	if err != nil || j == nil {
		return err
	}
	defer j.Close()
	open, err := p.Deployments(j).Open(ctx, journal.Filter{Region: of.account.Region(),
		Cluster: sluice.ARNName(of.service.Cluster), Service: of.service.Name})
	for _, d := range open {
		if done, err := visit(j, d); done || err != nil {
			return err
		}
	}
	return err
}

// chooseHook returns the ID of the hook to answer.
func (o continueFlags) chooseHook(s ecs.Service, rec *verdict.Record) (string, error) {
	var ids []string
	for _, h := range rec.AwaitedHooks() {
		if h.ID == o.hook || o.hook == "" && len(rec.AwaitedHooks()) == 1 {
			return h.ID, nil
		}
		ids = append(ids, h.ID)
	}
	why := fmt.Sprintf("several hooks wait for an answer: %s", strings.Join(ids, ", "))
	if o.hook != "" {
		why = fmt.Sprintf("hook %s does not wait for an answer; these do: %s", o.hook, strings.Join(ids, ", "))
	}
	return "", &sluice.Error{Op: "continue", Resource: s.Resource(), Err: errors.New(why),
		Next: "give one of them with --hook"}
}

// follow waits for the verdict on the deployment, unless --no-wait is given.
func (p *program) follow(ctx context.Context, a *account.Account, c clock.Clock, s ecs.Service, deployment, hook string,
	o continueFlags) error {
	if o.noWait {
		does := "continues the deployment"
		if o.rollBack {
			does = "rolls the deployment back"
		}
		p.PrintResult(fmt.Sprintf("answered hook %s of %s: ECS %s", hook, s.Resource(), does))
		return nil
	}
	target := watch.Target{Cluster: s.Cluster, Service: s.Name, Wanted: verdict.Wanted{Deployment: deployment,
		AnsweredHook: hook, Timeout: o.timeout, Deadline: watch.DefaultDeadline}}
	goal := inspect.Goal{Outcome: sluice.Succeeded, Until: o.until}
	if o.rollBack {
		goal.Outcome = sluice.RolledBack
	}
	return inspect.WaitFor(ctx, p.Session, a, c, target, goal)
}
