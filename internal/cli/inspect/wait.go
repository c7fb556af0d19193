package inspect

import (
	"cmp"
	"context"
	"errors"
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
	"github.com/sluice-ecs/sluice/internal/survey"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
	"github.com/sluice-ecs/sluice/internal/watch"
)

type waitOptions struct {
	region, role   string // of the application; empty: those of the session
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

func (p *program) newWaitCommand() *cobra.Command {
	var o waitOptions
	var at session.ApplicationFlag
	c := &cobra.Command{
		Use:   "wait [DIR | CLUSTER/SERVICE | -c FILE | --cluster NAME --service NAME]",
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
directory. The timeout of an ecspresso.yml then replaces the default one.`,
		Example: `  sluice wait examples/rolling
  sluice wait prod/web                 the same as --cluster prod --service web
  sluice wait --cluster prod --service web --task-definition web:42 --timeout 10m
  sluice wait --cluster prod --service web --service api --output json
  sluice wait --deployment d-ABCDEF123`,
		Args: session.AtMost(1),
		RunE: func(c *cobra.Command, args []string) error {
			path, given, err := at.Path(c, args)
			if err != nil {
				return err
			}
			o.isTimeoutGiven = c.Flags().Changed("timeout")
			if err := p.addApplication(&o, path, given, o.isTimeoutGiven); err != nil {
				return err
			}
			return p.runWait(c.Context(), o)
		},
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
	return c
}

// addApplication adds the service of an application, if the flags name none.
func (p *program) addApplication(o *waitOptions, path string, given, hasTimeout bool) error {
	if len(o.services) > 0 || o.deployment != "" {
		if given {
			return &sluice.Error{Op: "sluice wait", Err: errors.New("the service is given twice: " + path + " and by flags"),
				Next: "give one of them"}
		}
		return nil
	}
	if of, isService := p.ServiceAt(path); given && isService {
		o.cluster, o.services = of.Cluster, []string{of.Name}
		return nil
	}
	app, err := p.LoadApplication(path)
	switch {
	case err != nil && !given && session.IsNoApplication(err):
		return nil // checkWait says what is missing
	case err != nil:
		return err
	case app.Service == nil:
		return &sluice.Error{Op: "sluice wait", Resource: app.File,
			Err: errors.New("the application is a standalone task, and has no service"), Next: "run sluice status for its tasks"}
	}
	o.cluster = cmp.Or(o.cluster, session.ClusterName(app))
	o.services, o.region, o.role = []string{*app.Service.Input.ServiceName}, app.Region, app.Role
	if app.Format == appfile.Ecspresso && !hasTimeout {
		o.timeout = app.Timeout
	}
	return nil
}

// checkWait returns an error for flags that exclude each other or are out of range.
func (o waitOptions) checkWait() error {
	wrong := func(why, next string) error {
		return &sluice.Error{Op: "sluice wait", Err: errors.New(why), Next: next}
	}
	_, _, isARN := watch.DeploymentPlace(o.deployment)
	switch {
	case len(o.services) == 0 && !strings.HasPrefix(o.deployment, "d-") && !isARN:
		return wrong("no service given", "give --service NAME, or the folder of an application")
	case len(slices.Compact(slices.Sorted(slices.Values(o.services)))) < len(o.services):
		return wrong("a --service is given twice", "give each service once")
	case o.deployment != "" && len(o.services) > 1:
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
	if len(o.services) == 0 {
		o.services = []string{""} // the deployment determines the service
	}
	a, c, err := p.OpenAccount(ctx, o.region, o.role)
	if err != nil {
		return err
	}
	v := newWaitView(p.Session, len(o.services) > 1, c.Now())
	results := p.waitForAll(ctx, a, c, o, v)
	nameMissing(ctx, a, results)
	v.printResults(results)
	return v.exit(ctx, results)
}

// nameMissing names the clusters and services that exist in the results of those that never did.
func nameMissing(ctx context.Context, a *account.Account, results []waitOutcome) {
	for i := range results {
		r := &results[i]
		of := ecs.Service{API: a.ECS(), Cluster: r.target.Cluster, Name: r.target.Service}
		switch {
		case r.err != nil:
			r.err = survey.NameMissing(ctx, of, r.err)
		case r.update.Verdict.Outcome == sluice.Gone && !r.exists && of.Name != "":
			if _, next := survey.NearServices(ctx, of); next != "" {
				r.update.Verdict.Next = next
			}
		}
	}
}

// waitOutcome is the result of the wait for one service.
type waitOutcome struct {
	target  watch.Target
	exists  bool // a read showed the service
	update  watch.Update
	reached string // what the wait was to end at; then there is no verdict yet
	err     error
}

// waitForAll waits for the services concurrently, with shared reads of AWS.
func (p *program) waitForAll(ctx context.Context, a *account.Account, c clock.Clock, o waitOptions,
	v *waitView) []waitOutcome {
	w := watch.New(a, c)
	results := make([]waitOutcome, len(o.services))
	waits := make([]func(), len(o.services))
	for i, service := range o.services {
		waits[i] = func() {
			t := watch.Target{Cluster: o.cluster, Service: service, Wanted: verdict.Wanted{
				Revision: o.definition, Deployment: o.deployment, Timeout: o.timeout, DefaultTimeout: true, Bake: o.bake,
				Deadline: o.deadline, FailAfter: o.failAfter}}
			results[i] = waitForOne(ctx, w, t, o.until, v)
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

// Wait waits for the verdict on one target and prints it. The exit code is that of `sluice
// wait`.
func Wait(ctx context.Context, s *session.Session, a *account.Account, c clock.Clock, t watch.Target) error {
	return WaitFor(ctx, s, a, c, t, Goal{Outcome: sluice.Succeeded})
}

// Goal is what a wait ends at with exit code 0.
type Goal struct {
	Outcome sluice.Outcome // the wanted one
	Until   string         // what the deployment reaches before, see [watch.Update.HasReached]; empty: nothing
}

// WaitFor is [Wait] with another goal than success.
func WaitFor(ctx context.Context, s *session.Session, a *account.Account, c clock.Clock, t watch.Target,
	goal Goal) error {
	v := newWaitView(s, false, c.Now())
	v.wants = goal.Outcome
	w := waitForOne(ctx, watch.New(a, c), t, goal.Until, v)
	v.printResults([]waitOutcome{w})
	return v.exit(ctx, []waitOutcome{w})
}

// exit returns the errors of several waits, or without errors the exit code of the worst outcome.
func (v *waitView) exit(ctx context.Context, results []waitOutcome) error {
	if ctx.Err() != nil {
		return &sluice.Error{Op: "wait", Kind: sluice.Halted, Err: context.Cause(ctx),
			Next: "run sluice wait again at any time; the deployment continues"}
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
