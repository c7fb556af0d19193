package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/survey"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
	"github.com/sluice-ecs/sluice/internal/view"
	"github.com/sluice-ecs/sluice/internal/watch"
)

type waitOptions struct {
	targets        []waitTarget // what is waited for
	cluster        string
	services       []string
	definition     string
	deployment     string
	timeout        time.Duration
	bake           time.Duration
	deadline       time.Duration
	failAfter      int
	isTimeoutGiven bool
	until          string // the wait ends there, see watch.Update.HasReached; empty: at the verdict
}

// waitAccount is where a service is: the Region and role of the application; empty: those of the session.
type waitAccount struct{ region, role string }

// waitTarget is one service that is waited for.
type waitTarget struct {
	waitAccount
	cluster, service string
	timeout          time.Duration // 0: the default
}

func (p *program) newWaitCommand() *cobra.Command {
	var o waitOptions
	var at session.SeveralFlag
	c := &cobra.Command{
		Use:   "wait [DIR… | CLUSTER/SERVICE… | -c FILE | --cluster NAME --service NAME]",
		Short: "Wait for a deployment of any tool and report its outcome",
		Long: `Wait for a deployment of ECS services and report its outcome (succeeded, rolled back,
superseded and so on) and the cause. Any tool may start the deployment. The wait may
start before, during or after it. It can be a rolling update, a deployment of task
sets, or a CodeDeploy deployment, whose rollback is followed to its own end. sluice wait
makes no changes.

Without --task-definition or --deployment, it waits for the deployment that is current
at the first poll. With --task-definition, it waits until that revision appears and
serves. If the revision serves already, the wait succeeds immediately.

Without --service, it is the service of the application in DIR, or in the current
directory. The timeout of an ecspresso.yml then replaces the default one.

Several services are waited for at the same time, each until its own outcome. The exit
code is the worst of theirs. ` + session.PatternHelp,
		Example: `  sluice wait examples/rolling
  sluice wait prod/web                 the same as --cluster prod --service web
  sluice wait web api prod/worker      all of them
  sluice wait --task-definition web:42 prod/web
  sluice wait --cluster prod --service web --service api --output json
  sluice wait --deployment d-ABCDEF123`,
		RunE: at.RunNamed(p.Session, func(c *cobra.Command, n session.Named) error {
			o.isTimeoutGiven = c.Flags().Changed("timeout")
			if err := p.addTargets(&o, n, o.isTimeoutGiven); err != nil {
				return err
			}
			return p.runWait(c.Context(), o)
		}),
	}
	at.Register(c)
	f := c.Flags()
	f.StringVar(&o.cluster, "cluster", "", "`name` or ARN of the cluster (default: the account's default cluster)")
	f.StringArrayVar(&o.services, "service", nil, "`name` or ARN of a service; may be given several times")
	f.StringVar(&o.definition, "task-definition", "", "`family:revision` or ARN that has to serve")
	f.StringVar(&o.deployment, "deployment", "",
		"`ID` or ARN of a service deployment, ecs-svc/<number> of a deployment or task set, or d-XXXX of "+
			"CodeDeploy; an ARN and d-XXXX need no --service")
	session.RegisterWaitUntil(c, &o.until)
	f.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "until" {
			name = "wait-until" // ecspresso has both
		}
		return pflag.NormalizedName(name)
	})
	f.DurationVar(&o.timeout, "timeout", 0, "hard limit; the exit code is then 9 (default: what the service needs to start, "+
		"check and drain its tasks, twice, and at least 10m)")
	f.DurationVar(&o.bake, "bake", 0, "how long all tasks must run, watched, before a success counts")
	f.DurationVar(&o.deadline, "progress-deadline", 10*time.Minute, "limit without any progress")
	f.IntVar(&o.failAfter, "fail-after", diagnosis.FailAfter,
		"number of tasks stopped by one cause that ends the wait, unless a circuit breaker counts them")
	p.RegisterReports(c)
	return c
}

// addTargets adds the services that the flags name, or those of the named applications.
func (p *program) addTargets(o *waitOptions, n session.Named, hasTimeout bool) (err error) {
	var errs []error
	if len(o.services) > 0 || o.deployment != "" && !n.IsGiven {
		if n.IsGiven {
			return &sluice.Error{Op: "sluice wait",
				Err:  errors.New("the service is given twice: " + strings.Join(n.Paths, ", ") + " and by flags"),
				Next: "give one of them"}
		}
		for _, service := range o.services {
			o.targets = append(o.targets, waitTarget{cluster: o.cluster, service: service, timeout: o.timeout})
		}
		return nil
	}
	for _, path := range n.Paths {
		if err := p.addPath(o, path, n.IsGiven, hasTimeout); err != nil {
			if n.AreSeveral {
				err = fmt.Errorf("%s: %w", path, err)
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// addPath adds the service that a path names: CLUSTER/SERVICE, or that of the files of an application.
func (p *program) addPath(o *waitOptions, path string, given, hasTimeout bool) error {
	if of, isService := p.Env.Disk.ServiceAt(path); given && isService {
		o.targets = append(o.targets, waitTarget{cluster: of.Cluster, service: of.Name, timeout: o.timeout})
		return nil
	}
	if given && session.IsDeploymentID(path) {
		return p.refuseDeployment(path)
	}
	app, err := p.LoadNames(path)
	switch {
	case err != nil && !given && session.IsNoApplication(err):
		return nil // checkWait says what is missing
	case err != nil:
		return err
	case app.Service == nil:
		return &sluice.Error{Op: "sluice wait", Resource: app.File,
			Err: errors.New("the application is a standalone task, and has no service"), Next: "run sluice status for its tasks"}
	}
	t := waitTarget{waitAccount: waitAccount{app.Region, app.Role}, cluster: cmp.Or(o.cluster, app.ClusterName()),
		service: *app.Service.Input.ServiceName, timeout: o.timeout}
	if app.Format == appfile.Ecspresso && !hasTimeout {
		t.timeout = app.Timeout
	}
	o.targets = append(o.targets, t)
	return nil
}

// refuseDeployment returns the error for a deployment of the journal that is named: the wait is for a service.
func (p *program) refuseDeployment(id string) error {
	j, err := p.OpenExistingJournal()
	if err != nil {
		return err
	}
	defer j.Close()
	d, err := p.Deployments(j).ByID(context.Background(), id)
	if err != nil {
		return err
	}
	of := d.Cluster + "/" + d.Service
	next := "run sluice wait " + of
	switch {
	case session.IsTaskRun(d.Service):
		next = "run sluice status " + d.ID
	case d.State == journal.Ended:
		next = "run sluice history " + d.ID + " to see its events"
	}
	return &sluice.Error{Op: "sluice wait", Resource: d.ID,
		Err: fmt.Errorf("it is a deployment of %s in sluice's journal (%s), but sluice wait takes a service", of,
			cmp.Or(string(d.Outcome), string(d.State))),
		Next: next}
}

// checkWait returns an error for flags that exclude each other or are out of range.
func (o waitOptions) checkWait() error {
	wrong := func(why, next string) error {
		return &sluice.Error{Op: "sluice wait", Err: errors.New(why), Next: next}
	}
	_, _, isARN := watch.DeploymentPlace(o.deployment)
	switch {
	case len(o.targets) == 0 && strings.HasPrefix(o.deployment, "ecs-svc/"):
		return wrong(o.deployment+" is of one service of one cluster, and neither is given",
			"name the service too: sluice wait CLUSTER/SERVICE --deployment "+o.deployment)
	case len(o.targets) == 0 && !strings.HasPrefix(o.deployment, "d-") && !isARN:
		return wrong("no service given", "give --service NAME, or the folder of an application")
	case len(slices.Compact(slices.Sorted(slices.Values(o.services)))) < len(o.services):
		return wrong("a --service is given twice", "give each service once")
	case o.deployment != "" && len(o.targets) > 1:
		return wrong("a deployment belongs to one service, but several are given",
			"give one --service, or leave --deployment out")
	case o.deployment != "" && o.definition != "":
		return wrong("--deployment and --task-definition are both given", "give one of them")
	case o.timeout < 0 || o.timeout == 0 && o.isTimeoutGiven:
		return wrong("the timeout is not above 0", "give a duration such as 90s or 10m")
	case o.deadline <= 0:
		return wrong("--progress-deadline is not above 0", "give a duration such as 90s or 10m")
	case o.bake < 0:
		return wrong("--bake is below 0", "give a duration such as 1m")
	case o.failAfter < 1:
		return wrong("--fail-after is below 1", "give 1 or more; the default is 3")
	}
	return nil
}

func (p *program) runWait(ctx context.Context, o waitOptions) error {
	if err := o.checkWait(); err != nil {
		return err
	}
	if len(o.targets) == 0 {
		o.targets = []waitTarget{{cluster: o.cluster, timeout: o.timeout}} // the deployment determines the service
	}
	c, _, err := p.OpenClock()
	if err != nil {
		return err
	}
	accounts, named := map[waitAccount]*account.Account{}, map[waitTarget]bool{}
	for i := range o.targets {
		t := &o.targets[i]
		a, _, err := p.OpenAccount(ctx, t.region, t.role)
		if err != nil {
			return err
		}
		t.region = a.Region()
		accounts[t.waitAccount] = a
		same := waitTarget{waitAccount: t.waitAccount, cluster: sluice.ARNName(t.cluster), service: sluice.ARNName(t.service)}
		if named[same] {
			return &sluice.Error{Op: "sluice wait", Resource: t.service, Err: errors.New("the service is given twice"),
				Next: "give each service once"}
		}
		named[same] = true
	}
	v := newWaitView(p.Session, len(o.targets) > 1, c.Now())
	results := waitForAll(ctx, accounts, c, o, v, p.findFailed(ctx, o.targets))
	for i := range results {
		nameMissing(ctx, accounts[o.targets[i].waitAccount], &results[i])
	}
	v.printResults(ctx, results)
	return v.exit(ctx, results)
}

// nameMissing names the clusters and services that exist in the result of a service that never did.
func nameMissing(ctx context.Context, a *account.Account, r *waitOutcome) {
	of := ecs.Service{API: a.ECS(), Cluster: r.target.Cluster, Name: r.target.Service}
	switch {
	case r.err != nil && of.Cluster == "" && of.Name != "" && ecs.IsClusterMissing(r.err):
		of.Cluster = "default"
		r.err = survey.NoClusterGiven(survey.NameMissing(ctx, of, r.err), "sluice wait", of.Name)
	case r.err != nil:
		r.err = survey.NameMissing(ctx, of, r.err)
	case r.update.Verdict.Outcome == sluice.Gone && !r.exists && of.Name != "":
		if _, next := survey.NearServices(ctx, of); next != "" {
			r.update.Verdict.Next = next
		}
	}
}

// waitOutcome is the result of the wait for one service.
type waitOutcome struct {
	target  watch.Target
	region  string
	exists  bool // a read showed the service
	update  watch.Update
	reached string // what the wait was to end at; then there is no verdict yet
	err     error
}

// failedDeployment is what the newest deployment of a service read before it began, and when it failed. The zero value:
// it has not failed, or there is none.
type failedDeployment struct {
	before view.Traffic
	ended  time.Time
	left   string // its ID, also of one that was aborted or timed out: it may have left a canary
}

// findFailed finds the newest deployments of the services in the journal, if they failed: a wait then says the same of
// the rules as they did. What cannot be read is left out, because a wait needs no journal.
func (p *program) findFailed(ctx context.Context, targets []waitTarget) []failedDeployment {
	found := make([]failedDeployment, len(targets))
	j, err := p.FindJournal()
	if err != nil || j == nil {
		return found
	}
	defer j.Close()
	for i, t := range targets {
		of := journal.Filter{Cluster: sluice.ARNName(t.cluster), Service: sluice.ARNName(t.service), Region: t.region}
		if of.Cluster == "" || of.Service == "" {
			continue
		}
		d, err := p.Deployments(j).NewestOf(ctx, "wait", of)
		if err != nil || d.State != journal.Ended || !mayLeaveCanary(d.Outcome) {
			continue
		}
		if found[i].left = d.ID; d.Outcome != sluice.Failed {
			continue
		}
		if pl, err := session.ReadPlan(d); err == nil && pl.Callers.IsRead() {
			found[i].before, found[i].ended = pl.Callers, d.Ended
		}
	}
	return found
}

// waitForAll waits for the services concurrently, with shared reads of AWS. accounts are those of the targets, and
// failed their newest deployments.
func waitForAll(ctx context.Context, accounts map[waitAccount]*account.Account, c clock.Clock, o waitOptions,
	v *waitView, failed []failedDeployment) []waitOutcome {
	watches := map[waitAccount]*watch.Watch{}
	for at, a := range accounts {
		watches[at] = watch.New(a, c)
	}
	results := make([]waitOutcome, len(o.targets))
	waits := make([]func(), len(o.targets))
	for i, of := range o.targets {
		w := watches[of.waitAccount]
		waits[i] = func() {
			t := watch.Target{Cluster: of.cluster, Service: of.service, Before: failed[i].before,
				BeforeUntil: failed[i].ended, Unsuccessful: failed[i].left, Wanted: verdict.Wanted{
					Revision: o.definition, Deployment: o.deployment, Timeout: of.timeout, DefaultTimeout: true, Bake: o.bake,
					Deadline: o.deadline, FailAfter: o.failAfter, AwaitsRelease: o.definition == "" && o.deployment == ""}}
			results[i] = waitForOne(ctx, w, t, o.until, v)
			results[i].region = of.region
		}
	}
	clock.All(c, waits...)
	return results
}

// waitForOne waits for the verdict on one service, or until it has reached until.
func waitForOne(ctx context.Context, w *watch.Watch, t watch.Target, until string, v *waitView) (r waitOutcome) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	hasEvents, hasNoStages, reached := false, false, watch.Update{}
	r.target = t
	r.update, r.err = w.Wait(ctx, t, func(u watch.Update) {
		r.exists = r.exists || u.Service != nil
		hasEvents = hasEvents || u.CodeTarget != nil
		v.handleUpdate(u)
		if hasNoStages = u.NeverReaches(until); hasNoStages {
			cancel()
		} else if u.HasReached(until) {
			r.reached, reached = until, u
			cancel()
		}
	})
	isEvent := until != "" && !watch.IsOfECS(until)
	switch {
	case hasNoStages:
		r.err = errNeverReached(t, until, watch.NoStages)
	case r.reached != "":
		r.update, r.err = reached, nil
	case isEvent && r.err == nil && !hasEvents:
		r.err = errNeverReached(t, until, "no deployment of CodeDeploy has this service")
	}
	return r
}

func errNeverReached(t watch.Target, until, why string) error {
	return &sluice.Error{Op: "wait for " + until, Resource: t.Cluster + "/" + t.Service, Err: errors.New(why),
		Next: "leave --wait-until out"}
}

// Goal is what a wait ends at with exit code 0.
type Goal struct {
	Outcome sluice.Outcome // the wanted one
	Until   string         // what the deployment reaches before, see [watch.Update.HasReached]; empty: nothing
}

// WaitFor waits for the verdict on one target and prints it. The exit code is that of `sluice wait`.
func WaitFor(ctx context.Context, s *session.Session, a *account.Account, c clock.Clock, t watch.Target,
	goal Goal) error {
	v := newWaitView(s, false, c.Now())
	v.wants = goal.Outcome
	w := waitForOne(ctx, watch.New(a, c), t, goal.Until, v)
	w.region = a.Region()
	v.printResults(ctx, []waitOutcome{w})
	return v.exit(ctx, []waitOutcome{w})
}

// exit returns the errors of several waits, or without errors the exit code of the worst outcome.
func (v *waitView) exit(ctx context.Context, results []waitOutcome) error {
	if ctx.Err() != nil {
		return &sluice.Error{Op: "wait", Kind: sluice.Halted, Err: context.Cause(ctx), Next: nextOfInterrupted(results)}
	}
	var errs []error
	var codes []int
	for _, r := range results {
		if r.err != nil {
			errs = append(errs, r.err)
			continue
		}
		if r.reached != "" {
			continue
		}
		codes = append(codes, v.exitCode(r.update.Verdict.Outcome))
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	return session.ExitWith(sluice.WorstExit(codes...))
}

// nextOfInterrupted is the next step after Ctrl-C. It names the services that have no verdict, if there were several.
func nextOfInterrupted(results []waitOutcome) string {
	var undecided []string
	for _, r := range results {
		if r.err != nil {
			undecided = append(undecided, cmp.Or(sluice.ARNName(r.target.Cluster), "default")+"/"+sluice.ARNName(r.target.Service))
		}
	}
	if len(results) < 2 || len(undecided) == 0 {
		return "run sluice wait again at any time; the deployment continues"
	}
	return "run sluice wait " + strings.Join(undecided, " ") + " again at any time; the deployments continue"
}

// exitCode returns the exit code of an outcome: 0 only for the wanted one.
func (v *waitView) exitCode(o sluice.Outcome) int {
	switch o {
	case v.wants:
		return sluice.ExitDone
	case sluice.Succeeded:
		return sluice.ExitFailed // no rollback
	}
	return o.ExitCode()
}
