package deploy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/cli/report"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/cli/show"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/forecast"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/survey"
)

func newPlanCommand(p *program) *cobra.Command {
	var at session.SeveralFlag
	var o planFlags
	var shows planOutput
	c := &cobra.Command{
		Use:   "plan [DIR… | -c FILE]",
		Short: "Show what a deployment would change, and every write it would make",
		Long: `Show what a deployment would change, and every write it would make.

It reads the files and AWS and makes no changes. It shows the changes of the task
definition and the service, the stages with the weights that they set on each rule,
every write of each stage and of the rollback, and warnings. It also shows about how
long the deployment will take, with the assumptions.

With --iam it prints the IAM policy that this deployment and its rollback need, as
one JSON document. The policy has every write of the plan, the permissions that AWS
checks in addition, such as iam:PassRole, and every read, each with its resources.
With --check it asks IAM (SimulatePrincipalPolicy) which permissions the caller lacks.
If the caller lacks any, the exit code is 7.

` + session.SeveralHelp,
		Example: `  sluice plan examples/canary
  sluice plan 'services/*'             each application; exits with the worst exit code
  sluice plan --detailed-exitcode      2 if there are changes
  sluice plan --output json | jq .changes
  sluice plan --output markdown > body.md   for a comment on a pull request
  sluice plan --iam > policy.json      the permissions that it needs
  sluice plan --iam --check            the permissions that the caller lacks`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkPlanFlags(shows); err != nil {
				return err
			}
			n, err := at.Resolve(p.Session, c, args)
			if err != nil {
				return err
			}
			return p.planNamed(c.Context(), c.Name(), n, o, shows)
		},
	}
	at.Register(c)
	registerPlanFlags(c, &o)
	c.Flags().Var(session.MarkdownFlag(&p.Flags), "output", "text, json or markdown: the body of a comment on a pull request")
	c.Flags().BoolVar(&shows.detailed, "detailed-exitcode", false, "exit 2 if there are changes")
	c.Flags().BoolVar(&shows.iam, "iam", false, "print the IAM policy that the deployment needs")
	c.Flags().BoolVar(&shows.check, "check", false, "with --iam: ask IAM which of its permissions the caller lacks")
	return c
}

// planOutput are the flags of `sluice plan` for its output and its exit code.
type planOutput struct {
	detailed bool // exit code 2 if there are changes
	iam      bool // print the policy instead of the plan
	check    bool // print which permissions of the policy the caller lacks
}

// planFlags are the flags of the commands that plan a deployment.
type planFlags struct {
	mode.Options
	// autoRollback and bake replace those of the file.
	autoRollback *bool
	bake         *time.Duration

	definitions survey.LiveDefinitions
	images      *session.ImageFlags // nil: those of the files
	creates     bool                // the service must not exist
	refreshes   bool                // all tasks are replaced
	operates    bool                // the version stays, or returns: steps before and after a deployment do not run
	compares    bool                // nothing is deployed, only compared
}

func registerPlanFlags(c *cobra.Command, o *planFlags) {
	c.Flags().BoolVar(&o.Force, "force-new-deployment", false,
		"start a new deployment even if nothing changes")
	c.Flags().Var(countFlag(&o.Tasks), "tasks", "desired count, instead of the file's")
	c.Flags().BoolVar(&o.QuickSync, "quick-sync", false, "deploy in one step, without the file's pipeline")
	c.Flags().BoolVar(&o.Pipeline, "pipeline", false, "use the file's pipeline, even on a first deployment")
	o.registerOverrides(c.Flags())
	registerSources(c.Flags(), &o.definitions)
	o.images = session.RegisterImages(c.Flags())
	registerScalingFlags(c, &o.Scaling)
}

// registerOverrides adds the flags that override autoRollback and bake of the file.
func (o *planFlags) registerOverrides(f *pflag.FlagSet) {
	session.RegisterOptional(f, &o.autoRollback, true, "auto-rollback",
		"roll a failed deployment back, whatever the file says; =false: do not")
	f.Var(bakeFlag(&o.bake), "bake",
		"how long all new tasks must run before success, instead of the file's bake")
}

// bakeFlag returns the value of an optional flag with a time of 0 or more.
func bakeFlag(to **time.Duration) pflag.Value {
	return session.FlagOf("duration", func(s string) error {
		d, err := time.ParseDuration(s)
		if err != nil || d < 0 {
			return errors.New("it must be a duration of 0 or more, such as 2m")
		}
		*to = &d
		return nil
	})
}

// countFlag returns the value of an optional flag with a number of tasks.
func countFlag(to **int) pflag.Value {
	return session.FlagOf("number", func(s string) error {
		n, err := strconv.ParseUint(s, 10, 31)
		if err != nil {
			return errors.New("it must be a number of tasks, 0 or more")
		}
		count := int(n)
		*to = &count
		return nil
	})
}

// planNamed shows the plans of the applications that the command line names.
func (p *program) planNamed(ctx context.Context, verb string, n session.Named, o planFlags, shows planOutput) error {
	if shows.iam && p.Flags.Output == session.Markdown {
		return &sluice.Error{Op: "sluice plan", Err: errors.New("--iam prints a policy in JSON, not Markdown"),
			Next: "leave --output markdown out"}
	}
	if shows.iam && n.AreSeveral {
		return &sluice.Error{Op: "sluice plan", Err: errors.New("--iam prints one policy, but several applications are named"),
			Next: "run sluice plan --iam for each application"}
	}
	o.images.ForSeveral(len(n.Paths))
	one := func(ctx context.Context, s *session.Session, path string, _ bool) (string, error) {
		return (&program{Session: s}).runPlan(ctx, path, o, shows)
	}
	return n.Run(ctx, p.Session, verb, one)
}

// changesText describes in a few words what a plan changes.
func changesText(pl *plan.Plan) string {
	if !pl.HasChanges() {
		return "no changes"
	}
	return sluice.Plural(len(pl.Changes), "change")
}

func (p *program) runPlan(ctx context.Context, path string, o planFlags, shows planOutput) (result string, err error) {
	pre, f, err := p.prepareForecast(ctx, path, o, !shows.iam)
	if err != nil {
		if p.Flags.Output == session.Markdown {
			r := report.Unplanned(path, err, session.ExitCode(err))
			fmt.Fprint(p.Env.Out, session.Masked(p.Session, r).Markdown())
		}
		return "", err
	}
	exit := sluice.ExitDone
	if shows.detailed && pre.plan.HasWork() {
		exit = sluice.ExitChanges
	}
	if shows.iam {
		err = p.showPolicy(ctx, pre, shows.check)
	} else {
		err = p.showPlan(ctx, pre.plan, f, exit)
	}
	if err == nil {
		err = session.ExitWith(exit)
	}
	return changesText(pre.plan), err
}

// prepareForecast makes a plan and, if forecast is set, its forecast. It makes no changes.
func (p *program) prepareForecast(ctx context.Context, path string, o planFlags, forecast bool) (*preparedPlan,
	*forecast.Forecast, error) {
	defer p.ShowCalls()()
	pre, err := p.preparePlan(ctx, path, o)
	if err != nil {
		return nil, nil, err
	}
	if err := pre.judgeCurrent(ctx); err != nil || !forecast {
		return pre, nil, err
	}
	f := forecastPlan(ctx, pre)
	if f != nil {
		pre.warnShortLimits(*f)
	}
	return pre, f, nil
}

// showPlan prints a plan and, if f is not nil, its forecast. It makes no changes. exit is the exit code that follows.
func (p *program) showPlan(ctx context.Context, pl *plan.Plan, f *forecast.Forecast, exit int) error {
	if err := p.warnOfOpen(ctx, pl); err != nil {
		return err
	}
	switch p.Flags.Output {
	case session.JSON:
		return show.PlanJSON(p.Env.Out, pl, f)
	case session.Markdown:
		_, err := fmt.Fprint(p.Env.Out, report.PlanMarkdown(session.Masked(p.Session, pl), f, exit))
		return err
	}
	return show.Plan(p.Env.Out, p.PaintFor(p.Env.Out), pl, f)
}

// forecastPlan returns how long a plan will take, or nil if the plan changes nothing. If the state of
// the service cannot be read, it assumes usual values and says so.
func forecastPlan(ctx context.Context, pre *preparedPlan) *forecast.Forecast {
	if !pre.plan.HasChanges() || !pre.plan.Mode().HasService() {
		return nil
	}
	t, err := survey.ReadTimings(ctx, pre.account, pre.plan, pre.state)
	mode.WarnUndrained(pre.plan, t.Undrained)
	f := mode.NewForecast(pre.plan, t)
	if err != nil {
		f.Assumes = append(f.Assumes, fmt.Sprintf("the service has usual timings; they could not be read: %v", err))
	}
	return &f
}

// warnShortLimits adds a warning for each limit of the files that ends the deployment before the forecast does.
func (p *preparedPlan) warnShortLimits(f forecast.Forecast) {
	short := slices.Clone(f.TooShort)
	if place := p.app.PlaceOfTimeout(); place != "" && f.Took > p.plan.Timeout && len(short) > 0 {
		short[0] = place + ": " + short[0] // the timeout of the deployment is the first
	}
	p.plan.Warnings = append(p.plan.Warnings, short...)
}

// warnShortLimitsAtStart is warnShortLimits for a deployment, which reads the timings of the service only if usual ones are
// too long.
func (p *preparedPlan) warnShortLimitsAtStart(ctx context.Context) {
	if !p.plan.HasChanges() || !p.plan.Mode().HasService() || p.app == nil {
		return
	}
	var usual forecast.Timings
	if p.state.Service != nil {
		usual.Tasks = int(p.state.Service.DesiredCount)
	}
	if len(mode.NewForecast(p.plan, usual).TooShort) == 0 {
		return
	}
	if t, err := survey.ReadTimings(account.WithOptionalReads(ctx), p.account, p.plan, p.state); err == nil {
		p.warnShortLimits(mode.NewForecast(p.plan, t))
	}
}

// warnOfOpen adds a warning for each unfinished deployment of the journal.
func (p *program) warnOfOpen(ctx context.Context, pl *plan.Plan) error {
	j, err := p.FindJournal()
	if err != nil || j == nil {
		return err
	}
	defer j.Close()
	open, err := p.listOpenDeployments(ctx, j, pl)
	for _, d := range open {
		pl.Warnings = append(pl.Warnings,
			fmt.Sprintf("deployment %s of the service is %s: end it first with sluice resume, rollback or abort", d.ID,
				d.State))
	}
	return err
}
