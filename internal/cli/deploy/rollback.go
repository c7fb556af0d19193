package deploy

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/cli/show"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan/history"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
)

// rollbackOptions are the flags of sluice rollback.
type rollbackOptions struct {
	cluster, service string
	to               string // family:revision; empty: the state before the deployment
	dry, noWait      bool
	adopt            bool // without the journal
}

func (p *program) newRollbackCommand() *cobra.Command {
	t := session.DeploymentCommand{Name: "rollback", TakesSeveral: true}
	var o rollbackOptions
	c := p.NewDeploymentCommand(&t, "Restore the state before a deployment",
		`Restore the state before a deployment: its rules, the previous revision as primary,
and no tasks of the new one. If a process runs the deployment, that process rolls it
back. Otherwise, this command rolls it back. Exit code 0: it was rolled back. `+session.IDHelp+`

Several deployments are rolled back one after the other. If one rollback fails, sluice
prints the error and continues with the others. The exit code is the worst of them.

If another process or person deployed a rolling service, sluice uses ECS's history and
creates a deployment of its own. If a deployment runs, sluice stops it, and ECS rolls
it back. Otherwise, sluice deploys the last revision that succeeded again, with the
network, load balancers and other settings that it had. The desired count does not
change. --to selects another revision. If CodeDeploy deploys the service, sluice stops
a running deployment with its rollback. Otherwise, it deploys the last revision that
succeeded again, with AllAtOnce.`,
		`  sluice rollback
  sluice rollback slc-01k0…
  sluice rollback web api worker       one after the other; exits with the worst exit code
  sluice rollback --cluster prod --service web
  sluice rollback --cluster prod --service web --to web:41`,
		func(c *cobra.Command, path string, given bool) error {
			return p.runRollback(c.Context(), path, given, o)
		})
	f := c.Flags()
	f.StringVar(&o.cluster, "cluster", "",
		"`name` or ARN of the cluster of --service (default: the account's default cluster)")
	f.StringVar(&o.service, "service", "", "`name` or ARN of the service, instead of an application's folder")
	f.StringVar(&o.to, "to", "", "`family:revision` to restore, for a service that ECS or CodeDeploy deploys")
	f.BoolVar(&o.dry, "dry-run", false, "show the plan of a rollback by ECS's history and make no changes")
	f.BoolVar(&o.adopt, "adopt", false,
		"if the journal is lost: route all traffic to the primary, delete everything else that sluice created")
	f.BoolVar(&o.noWait, "no-wait", false,
		"exit after requesting the rollback; do not wait for it")
	return c
}

func (o rollbackOptions) checkRollback(path string, given bool) error {
	wrong := func(why, next string) error {
		return &sluice.Error{Op: "sluice rollback", Err: errors.New(why), Next: next}
	}
	switch {
	case o.service == "" && o.cluster != "":
		return wrong("--cluster without --service", "give --service NAME, or leave --cluster out")
	case o.service != "" && given:
		return wrong("the service is given twice: "+path+" and --service "+o.service, "give one of them")
	case o.to != "" && session.IsDeploymentID(path):
		return wrong("--to needs a service, but "+path+" is a deployment",
			"give the application's folder, or --cluster and --service")
	}
	return nil
}

func (p *program) runRollback(ctx context.Context, path string, given bool, o rollbackOptions) error {
	if err := o.checkRollback(path, given); err != nil {
		return err
	}
	j, err := p.OpenJournalForWrite()
	if err != nil {
		return err
	}
	defer j.Close()
	of, region, err := p.targetService(path, given, o)
	if err != nil {
		return err
	}
	t := &session.Opened{Journal: j}
	if t.Deployment, err = p.findLastDeployment(ctx, j, path, given, o, of); err == nil && o.to == "" {
		return p.rollBackRecorded(ctx, t, of, o)
	}
	if of.Service == "" || err != nil && !errors.Is(err, session.ErrNoDeployment) {
		return err
	}
	if o.adopt && o.service == "" && err != nil {
		return p.adoptLeftovers(ctx, j, path, o)
	}
	return p.rollBackByHistory(ctx, j, of, region, o)
}

// targetService returns the service to roll back. Its name is empty if only the journal identifies
// the service.
func (p *program) targetService(path string, given bool, o rollbackOptions) (of journal.Filter, region string,
	err error) {
	if o.service != "" {
		cluster := "default"
		if o.cluster != "" {
			cluster = sluice.ARNName(o.cluster)
		}
		return journal.Filter{Cluster: cluster, Service: sluice.ARNName(o.service)}, "", nil
	}
	if session.IsDeploymentID(path) {
		return of, "", nil
	}
	app, err := p.LoadApplication(path)
	switch {
	case err != nil && !given && session.IsNoApplication(err) && o.to == "":
		return of, "", nil
	case err != nil || app.Service == nil:
		return of, "", err
	}
	return journal.Filter{Cluster: session.ClusterName(app), Service: *app.Service.Input.ServiceName, Region: app.Region},
		app.Region, nil
}

func (p *program) findLastDeployment(ctx context.Context, j *journal.Journal, path string, given bool,
	o rollbackOptions, of journal.Filter) (journal.Deployment, error) {
	if o.service != "" {
		return p.NewestOfService(ctx, j, "rollback", of)
	}
	return p.FindDeployment(ctx, j, "rollback", path, given)
}

// rollBackRecorded rolls a deployment of the journal back. If another process or person has deployed
// the service since, it rolls back by the history of AWS instead.
func (p *program) rollBackRecorded(ctx context.Context, t *session.Opened, of journal.Filter, o rollbackOptions) error {
	if err := p.EnterAccount(ctx, t); err != nil {
		return err
	}
	d := t.Deployment
	if !t.Plan.Mode().HasService() {
		return &sluice.Error{Op: "roll the deployment back", Resource: d.ID,
			Err:  errors.New("the deployment ran a task, and the effects of a task cannot be rolled back"),
			Next: "run sluice status to list the tasks, and aws ecs stop-task to stop one that still runs"}
	}
	overtaken, err := isOvertaken(ctx, t)
	if err != nil {
		return err
	}
	if (overtaken || onlyAdopted(t)) && of.Service != "" {
		return p.rollBackByHistory(ctx, t.Journal, of, d.Region, o)
	}
	if d.State == journal.Ended && d.Outcome == sluice.RolledBack {
		p.PrintResult("nothing to roll back: " + show.DeploymentSummary(d, ""))
		return nil
	}
	if o.dry {
		return &sluice.Error{Op: "sluice rollback --dry-run", Resource: d.ID,
			Err:  errors.New("the plan of a deployment already contains the plan of its rollback"),
			Next: "run sluice plan to see it, or leave --dry-run out"}
	}
	if err := p.refuseOlder(ctx, t); err != nil {
		return err
	}
	return p.requestRollback(ctx, t, o.noWait)
}

// requestRollback saves the command to roll back. It then runs the rollback here, or follows the
// process that runs it.
func (p *program) requestRollback(ctx context.Context, t *session.Opened, noWait bool) error {
	runs, err := p.RunningProcess(ctx, t)
	if err != nil {
		return err
	}
	d, e := t.Deployment, p.NewEngine(t.Account, t.Clock, t.Journal)
	if err := e.SendCommand(ctx, d.ID, journal.Rollback, 0, p.ActorName("")); err != nil {
		return err
	}
	if err := e.Reopen(ctx, d.ID); err != nil {
		return err
	}
	if noWait && runs != "" {
		p.PrintResult("rollback requested from process " + runs + ", deployment " + d.ID)
		return nil
	}
	return p.runOrFollow(ctx, e, t, engine.Options{}, sluice.RolledBack)
}

// isOvertaken reports whether another process or person has deployed the service since the last
// deployment of this journal ended. It is for services that ECS or CodeDeploy deploys. The state
// before the deployment of the journal is then not the state before the newest deployment.
func isOvertaken(ctx context.Context, t *session.Opened) (bool, error) {
	d := t.Deployment
	if d.State != journal.Ended || !t.Plan.Mode().OthersDeploy() {
		return false, nil
	}
	left := t.Plan.From
	if d.Outcome == sluice.Succeeded {
		events, err := t.Journal.Events(ctx, d.ID, 0, 0)
		if err != nil {
			return false, err
		}
		left = show.LastPrimaryRevision(events)
	} else if d.Outcome != sluice.RolledBack {
		return false, nil
	}
	live, err := ecs.Service{API: t.Account.ECS(), Cluster: d.Cluster, Name: d.Service}.Observe(ctx)
	if err != nil || live == nil || live.Status != "ACTIVE" || left == "" {
		return false, err
	}
	if other, err := hasOtherCodeDeploy(ctx, t); other || err != nil {
		return other, err
	}
	return live.Serving() != left, nil
}

// onlyAdopted reports whether the last deployment only removed leftovers from a service that AWS
// deploys. Only the history of AWS then contains the revision that served before.
func onlyAdopted(t *session.Opened) bool {
	if t.Plan.Mode().HasVariants() {
		return false
	}
	return t.Deployment.State == journal.Ended && len(t.Plan.Stages) == 1 && t.Plan.Adopts()
}

// adoptLeftovers removes the leftovers of a deployment whose journal is lost. It deploys no
// revision.
func (p *program) adoptLeftovers(ctx context.Context, j *journal.Journal, path string, o rollbackOptions) error {
	pre, err := p.preparePlan(ctx, path, mode.Options{Adopt: true, Only: true})
	if err != nil {
		return err
	}
	if pre.plan.Mode().ReturnsByHistory() {
		return p.rollBackByHistory(ctx, j, journal.Filter{Cluster: pre.plan.Cluster, Service: pre.plan.Service},
			pre.app.Region, o)
	}
	if o.dry {
		return p.showPlan(ctx, pre.plan, nil)
	}
	if err := p.freeService(ctx, j, pre, conflictFlags{adopt: true}); err != nil {
		return err
	}
	return p.runNewDeployment(ctx, j, pre, engine.Options{})
}

// rollBackByHistory returns a rolling service to the previous revision in ECS's history, as a
// deployment of its own.
func (p *program) rollBackByHistory(ctx context.Context, j *journal.Journal, of journal.Filter, region string,
	o rollbackOptions) error {
	pre, nothing, err := p.prepareReturn(ctx, of, region, o.to)
	if err != nil {
		return err
	}
	if nothing != "" {
		p.PrintResult("nothing to roll back: " + of.Cluster + "/" + of.Service + ": " + nothing)
		return nil
	}
	if o.dry {
		return p.showPlan(ctx, pre.plan, nil)
	}
	if err := p.freeService(ctx, j, pre, conflictFlags{adopt: o.adopt}); err != nil {
		return err
	}
	if !pre.plan.HasChanges() {
		p.PrintResult(fmt.Sprintf("nothing to roll back: %s/%s runs %s", of.Cluster, of.Service, pre.plan.From))
		return nil
	}
	return p.runNewDeployment(ctx, j, pre, engine.Options{NoWait: o.noWait})
}

func (p *program) prepareReturn(ctx context.Context, of journal.Filter, region, to string) (pre *preparedPlan,
	nothing string, err error) {
	defer p.ShowCalls()()
	pre = &preparedPlan{filter: of, revision: to, returnPlan: &history.Return{}}
	if pre.account, pre.clock, err = p.OpenAccount(ctx, region); err != nil {
		return nil, "", err
	}
	err = pre.readAndPlan(ctx)
	return pre, pre.returnPlan.Nothing, err
}

// refuseOlder returns an error if the journal has a newer deployment of the same service.
func (p *program) refuseOlder(ctx context.Context, t *session.Opened) error {
	d, at := t.Deployment, p.Endpoint(ctx)
	last, err := t.Journal.LatestDeployment(ctx, journal.Filter{Account: d.Account, Region: d.Region,
		Cluster: d.Cluster, Service: d.Service, At: &at})
	if err != nil || last.ID == d.ID {
		return err
	}
	return &sluice.Error{Op: "roll the deployment back", Resource: d.ID, Kind: sluice.Overtaken,
		Err: laterDeploymentError(last.ID), Next: "roll the later one back first: sluice rollback " + last.ID}
}
