package deploy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/cli/inspect"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/history"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/survey"
)

// rollbackOptions are the flags of sluice rollback.
type rollbackOptions struct {
	cluster, service string
	to               string // family:revision; empty: the state before the deployment
	dry, noWait      bool
	operation        bool  // undo the last operation, also if it changed no version
	adopt            bool  // without the journal
	force            bool  // several are rolled back without a question
	deregister       *bool // the revision that is replaced; nil: the format of the files decides
	events           []string
}

func newRollbackCommand(p *program) *cobra.Command {
	t := session.DeploymentCommand{Name: "rollback"}
	var o rollbackOptions
	t.RunSeveral = func(ctx context.Context, paths []string) error { return p.rollBackSeveral(ctx, paths, o) }
	c := t.New(p.Session, "Restore the state before a deployment",
		`Restore the state before a deployment: its rules, the previous revision as primary,
and no tasks of the new one. If a process runs the deployment, that process rolls it
back. Otherwise, this command rolls it back. Exit code 0: it was rolled back. `+session.IDHelp+`

It returns to the version that served before the last one, also if the service was
scaled or its tasks were replaced since. --operation undoes only the last operation.
A rollback that has not ended continues; only its ID undoes it.
A rollback of a version that succeeded never lowers the desired count.

Several services are rolled back concurrently. On a terminal, sluice first shows the plan
of each rollback and asks once; --force does not ask. If one rollback fails, the others
continue. A table at the end lists the results; the exit code is the worst of them.
`+session.PatternHelp+`

If another process or person deployed a rolling service, sluice uses ECS's history and
creates a deployment of its own. If a deployment runs, sluice stops it, and ECS rolls
it back. Otherwise, sluice deploys the last revision that succeeded again, with the
network, load balancers and other settings that it had. The desired count does not
change. --to selects another revision. If CodeDeploy deploys the service, sluice stops
a running deployment with its rollback. Otherwise, it deploys the last revision that
succeeded again, with AllAtOnce.`,
		`  sluice rollback
  sluice rollback slc-01k0…
  sluice rollback --operation          undo the last sluice scale or refresh
  sluice rollback web api worker       concurrently; exits with the worst exit code
  sluice rollback prod/web             the same as --cluster prod --service web
  sluice rollback --cluster prod --service web --to web:41`,
		func(c *cobra.Command, path string, given bool) error {
			return (&rollbackRun{program: p, path: path, given: given, options: o}).execute(c.Context())
		})
	f := c.Flags()
	f.StringVar(&o.cluster, "cluster", "",
		"`name` or ARN of the cluster of --service (default: the account's default cluster)")
	f.StringVar(&o.service, "service", "", "`name` or ARN of the service, instead of an application's folder")
	f.StringVar(&o.to, "to", "", "`family:revision` to restore, for a service that ECS or CodeDeploy deploys")
	f.BoolVar(&o.dry, "dry-run", false, "show the plan of the rollback and make no changes")
	f.BoolVar(&o.operation, "operation", false,
		"undo the last operation of the journal, also if it changed no version: scale, refresh")
	session.RegisterOptional(f, &o.deregister, true, "deregister-task-definition",
		"afterwards deregister the revision that was replaced, if nothing uses it (default: only with ecspresso's files)")
	session.RegisterOptional(f, &o.deregister, false, "no-deregister-task-definition",
		"the same as --deregister-task-definition=false")
	f.Var(session.EventsFlag(&o.events), "rollback-events",
		"`EVENT,…` after which CodeDeploy rolls back a new deployment that a rollback creates, as in sluice deploy")
	f.BoolVar(&o.adopt, "adopt", false,
		"if the journal is lost: route all traffic to the primary, delete everything else that sluice created")
	f.BoolVar(&o.force, "force", false, "roll several services back without a question")
	session.RegisterWaitUntil(c, nil)
	session.RegisterNoWait(f, &o.noWait, "exit after requesting the rollback; do not wait for it")
	p.RegisterReports(c)
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
	case o.noWait && o.deregister != nil && *o.deregister:
		return wrong("--no-wait exits before the revision can be deregistered",
			"leave --deregister-task-definition out, and run sluice deregister later")
	case o.operation && (o.to != "" || o.adopt):
		return wrong("--operation excludes --to and --adopt", "give one of them")
	case o.adopt && o.service != "":
		return wrong("--adopt needs the application's files, and "+o.service+" names only the service",
			"run sluice rollback --adopt in the application's folder")
	case o.to != "" && !isRevision(o.to):
		return wrong("--to is "+o.to+", which is not family:revision", "give, for example, --to web:12; sluice revisions lists them")
	case o.to != "" && session.IsDeploymentID(path):
		return wrong("--to needs a service, but "+path+" is a deployment",
			"give the application's folder, or --cluster and --service")
	}
	return nil
}

// isRevision reports whether a text is family:revision. A family alone would be its newest revision.
func isRevision(text string) bool {
	family, number, _ := strings.Cut(text, ":")
	n, err := strconv.ParseUint(number, 10, 31)
	return err == nil && n > 0 && family != "" && !strings.Contains(family, "/")
}

// rollbackRun is one run of sluice rollback.
type rollbackRun struct {
	program *program
	path    string // of the application, or the ID of a deployment
	given   bool   // the user named the path
	options rollbackOptions

	ecspresso bool             // the format of the files
	role      string           // that the files let sluice assume
	replaced  replacedRevision // by the rollback
}

func (r *rollbackRun) execute(ctx context.Context) error {
	if of, isService := r.program.Env.Disk.ServiceAt(r.path); r.given && isService && r.options.service == "" {
		r.options.cluster, r.options.service, r.given = of.Cluster, of.Name, false
	}
	if err := r.options.checkRollback(r.path, r.given); err != nil {
		return err
	}
	j, err := r.program.OpenJournalForWrite()
	if err != nil {
		return err
	}
	defer j.Close()
	if err := r.rollBack(ctx, j); err != nil {
		if o := r.options; o.service != "" && o.cluster == "" {
			err = survey.NoClusterGiven(err, "sluice rollback", sluice.ARNName(o.service))
		}
		return err
	}
	return r.deregisterReplaced(ctx)
}

// rollBack rolls back the deployment of the journal, or by the history of AWS.
func (r *rollbackRun) rollBack(ctx context.Context, j *journal.Journal) error {
	of, region, err := r.targetService()
	if err != nil {
		return err
	}
	t := &session.Opened{Journal: j}
	t.Deployment, err = r.findLastDeployment(ctx, j, of)
	cleansUp := r.options.adopt && r.options.service == "" && (err != nil || t.Deployment.Outcome == sluice.Superseded)
	if err == nil && r.options.to == "" && !cleansUp {
		claim, other, err := r.findOtherClaim(ctx, t)
		switch {
		case err != nil:
			return err
		case other && r.options.adopt:
			return r.adoptLeftovers(ctx, j)
		case other:
			return otherClaimError(r.program.JournalFile().Path, t.Deployment, "roll the deployment back", claim)
		}
		return r.rollBackRecorded(ctx, t, of)
	}
	if r.options.operation && err != nil {
		return err
	}
	if of.Service == "" || err != nil && !errors.Is(err, session.ErrNoDeployment) {
		return err
	}
	if cleansUp {
		return r.adoptLeftovers(ctx, j)
	}
	return r.rollBackByHistory(ctx, j, of, region, r.options.to)
}

// targetService returns the service to roll back. Its name is empty if only the journal identifies
// the service.
func (r *rollbackRun) targetService() (of journal.Filter, region string, err error) {
	if r.options.service != "" {
		cluster := "default"
		if r.options.cluster != "" {
			cluster = sluice.ARNName(r.options.cluster)
		}
		return journal.Filter{Cluster: cluster, Service: sluice.ARNName(r.options.service)}, "", nil
	}
	if session.IsDeploymentID(r.path) {
		return of, "", nil
	}
	app, err := r.program.LoadNames(r.path)
	switch {
	case err != nil && !r.given && session.IsNoApplication(err) && r.options.to == "":
		return of, "", nil
	case err != nil || app.Service == nil:
		return of, "", err
	}
	r.ecspresso, r.role = app.Format == appfile.Ecspresso, app.Role
	return journal.Filter{Cluster: app.ClusterName(), Service: *app.Service.Input.ServiceName, Region: app.Region},
		app.Region, nil
}

func (r *rollbackRun) findLastDeployment(ctx context.Context, j *journal.Journal, of journal.Filter) (
	journal.Deployment, error) {
	if r.options.service != "" {
		return r.program.Deployments(j).NewestOf(ctx, "rollback", of)
	}
	return r.program.Deployments(j).Find(ctx, "rollback", r.path, r.given)
}

// findOtherClaim opens the account of a deployment and is [findOtherClaim], unless the command names the deployment.
// After the claim has expired, a service that ECS or CodeDeploy deploys goes back by AWS's history.
func (r *rollbackRun) findOtherClaim(ctx context.Context, t *session.Opened) (claim plan.Claim, found bool, err error) {
	if err := t.EnterAccount(ctx, r.program.Session); err != nil || session.IsDeploymentID(r.path) {
		return claim, false, err
	}
	claim, found, err = findOtherClaim(ctx, t)
	return claim, found && (claim.IsValidAt(t.Clock.Now()) || !t.Plan.Mode().OthersDeploy()), err
}

// rollBackRecorded rolls a deployment of the journal back. If another process or person has deployed
// the service since, it rolls back by the history of AWS instead.
func (r *rollbackRun) rollBackRecorded(ctx context.Context, t *session.Opened, of journal.Filter) error {
	d := t.Deployment
	if !t.Plan.Mode().HasService() {
		return &sluice.Error{Op: "roll the deployment back", Resource: d.ID,
			Err:  errors.New("the deployment ran a task, and the effects of a task cannot be rolled back"),
			Next: "run sluice tasks to list the tasks, and sluice tasks --id ID --stop to stop one that still runs"}
	}
	target, found, err := r.findTarget(ctx, t)
	if err != nil {
		return err
	}
	if target.continues {
		if t, err = openedAs(t, target.deployment); err != nil {
			return err
		}
		return r.continueReturn(ctx, t)
	}
	if err := r.endOperation(ctx, t, target); err != nil {
		return err
	}
	switch {
	case !found && t.Plan.Mode().OthersDeploy():
		return r.rollBackByHistory(ctx, t.Journal, serviceOf(d), d.Region, "")
	case !found:
		r.program.PrintResult("nothing to roll back: the journal has no deployment of " + d.Cluster + "/" + d.Service +
			" that changed its version")
		return nil
	case target.returned != "":
		r.program.PrintResult(fmt.Sprintf("nothing to roll back: deployment %s returned %s/%s to the version before %s",
			target.returned, d.Cluster, d.Service, d.ID))
		return nil
	}
	if t, err = openedAs(t, target.deployment); err != nil {
		return err
	}
	if len(target.operations) > 0 {
		return r.rollBackVersion(ctx, t, target.operations)
	}
	return r.rollBackNewest(ctx, t, of)
}

// serviceOf selects the service of a deployment.
func serviceOf(d journal.Deployment) journal.Filter {
	return journal.Filter{Cluster: d.Cluster, Service: d.Service, Region: d.Region}
}

// rollBackNewest rolls back the last deployment of the journal, unless AWS's history knows a later one.
func (r *rollbackRun) rollBackNewest(ctx context.Context, t *session.Opened, of journal.Filter) error {
	switch overtaken, err := isOvertaken(ctx, t); {
	case err != nil:
		return err
	case (overtaken || onlyAdopted(t)) && of.Service != "":
		return r.rollBackByHistory(ctx, t.Journal, of, t.Deployment.Region, "")
	}
	switch nothing, err := r.findNothing(ctx, t); {
	case err != nil:
		return err
	case nothing != "":
		r.program.PrintResult("nothing to roll back: " + nothing)
		return nil
	}
	return r.rollBackTarget(ctx, t)
}

// requestRollback saves the command to roll back. It then runs the rollback here, or follows the
// process that runs it.
func (r *rollbackRun) requestRollback(ctx context.Context, t *session.Opened, noWait bool) error {
	runs, err := r.program.Env.RunningProcess(ctx, t.Journal, t.Deployment)
	if err != nil {
		return err
	}
	d, e := t.Deployment, r.program.NewEngine(t.Account, t.Clock, t.Journal)
	if err := e.SendCommand(ctx, d.ID, journal.Rollback, 0, r.program.Env.ActorName("")); err != nil {
		return err
	}
	if err := e.Reopen(ctx, d.ID); err != nil {
		return err
	}
	if noWait && runs != "" {
		r.program.PrintResult("rollback requested from process " + runs + ", deployment " + d.ID)
		return nil
	}
	return r.program.runOrFollow(ctx, e, t, engine.Options{}, sluice.RolledBack)
}

// isOvertaken reports whether another process or person has deployed the service since the last
// deployment of this journal ended. It is for services that ECS or CodeDeploy deploys. The state
// before the deployment of the journal is then not the state before the newest deployment.
func isOvertaken(ctx context.Context, t *session.Opened) (bool, error) {
	d := t.Deployment
	switch {
	case d.State != journal.Ended || !t.Plan.Mode().OthersDeploy():
		return false, nil
	case d.Outcome == sluice.Superseded:
		return true, nil
	}
	left, err := revisionsLeft(ctx, t)
	if err != nil {
		return false, err
	}
	live, err := ecs.Service{API: t.Account.ECS(), Cluster: d.Cluster, Name: d.Service}.Observe(ctx)
	if err != nil || live == nil || live.Status != "ACTIVE" || len(left) == 0 {
		return false, err
	}
	if d.Outcome == sluice.Succeeded || d.Outcome == sluice.RolledBack { // one that was stopped may run on
		if other, err := hasOtherCodeDeploy(ctx, t); other || err != nil {
			return other, err
		}
	}
	return !slices.Contains(left, live.Serving()), nil
}

// revisionsLeft is [inspect.RevisionsLeft].
func revisionsLeft(ctx context.Context, t *session.Opened) ([]string, error) {
	events, err := t.Journal.Events(ctx, t.Deployment.ID, 0, 0)
	if err != nil {
		return nil, err
	}
	to, err := deployedRevision(ctx, t.Journal, t.Deployment, t.Plan)
	return inspect.RevisionsLeft(t.Deployment, t.Plan, to, events), err
}

// onlyAdopted reports whether the last deployment only removed leftovers from a service that AWS
// deploys. Only the history of AWS then contains the revision that served before.
func onlyAdopted(t *session.Opened) bool {
	if t.Plan.Mode().HasVariants() {
		return false
	}
	return t.Deployment.State == journal.Ended && t.Plan.OnlyAdopts()
}

// adoptLeftovers removes the leftovers of a deployment whose journal is lost. It deploys no
// revision.
func (r *rollbackRun) adoptLeftovers(ctx context.Context, j *journal.Journal) error {
	pre, err := r.program.preparePlan(ctx, r.path, planFlags{Options: mode.Options{Adopt: true, Only: true}})
	if err != nil {
		return err
	}
	if pre.plan.Mode().ReturnsByHistory() {
		return r.rollBackByHistory(ctx, j, journal.Filter{Cluster: pre.plan.Cluster, Service: pre.plan.Service},
			pre.app.Region, "")
	}
	if r.options.dry {
		return r.program.showPlan(ctx, pre.plan, nil, sluice.ExitDone)
	}
	conflicts := &serviceConflicts{r.program, j, pre, conflictFlags{operation: returnOperation, adopt: true}}
	if err := conflicts.freeService(ctx); err != nil {
		return err
	}
	return r.program.runNewDeployment(ctx, j, pre, engine.Options{})
}

// rollBackByHistory returns a service that AWS deploys to the revision to, as a deployment of its own. If to
// is empty, it returns to the previous version in AWS's history.
func (r *rollbackRun) rollBackByHistory(ctx context.Context, j *journal.Journal, of journal.Filter,
	region, to string) error {
	pre, nothing, err := r.prepareReturn(ctx, of, region, to)
	if err != nil {
		return err
	}
	if nothing != "" {
		r.program.PrintResult("nothing to roll back: " + of.Cluster + "/" + of.Service + ": " + nothing)
		return nil
	}
	r.warnFormer(ctx, pre.account, pre.clock, of, pre.plan.To, false)
	if r.options.dry {
		return r.program.showPlan(ctx, pre.plan, nil, sluice.ExitDone)
	}
	conflicts := &serviceConflicts{r.program, j, pre, conflictFlags{operation: returnOperation, adopt: r.options.adopt}}
	if err := conflicts.freeService(ctx); err != nil {
		return err
	}
	if !pre.plan.HasChanges() {
		r.program.PrintResult(fmt.Sprintf("nothing to roll back: %s/%s runs %s", of.Cluster, of.Service, pre.plan.From))
		return nil
	}
	pre.plan.ReturnsTo, pre.plan.Returns = r.options.to, r.options.to == "" // a named revision is a new choice
	r.replaced = replacedRevision{account: pre.account, name: pre.state.ServingRevision()}
	return r.program.runNewDeployment(ctx, j, pre, engine.Options{NoWait: r.options.noWait})
}

func (r *rollbackRun) prepareReturn(ctx context.Context, of journal.Filter, region, to string) (pre *preparedPlan,
	nothing string, err error) {
	defer r.program.ShowCalls()()
	pre = &preparedPlan{filter: of, revision: to, returnPlan: &history.Return{}, returnEvents: r.options.events}
	if pre.account, pre.clock, err = r.program.OpenAccount(ctx, region, r.role); err != nil {
		return nil, "", err
	}
	err = pre.readAndPlan(ctx)
	return pre, pre.returnPlan.Nothing, err
}
