package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/cli/show"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/plan"
	rehearsals "github.com/sluice-ecs/sluice/internal/rehearse"
	"github.com/sluice-ecs/sluice/internal/rehearse/catalogue"
	"github.com/sluice-ecs/sluice/internal/rehearse/shape"
)

// rehearsalRun is one run of sluice rehearse.
type rehearsalRun struct {
	*session.Session
	fromLive bool
	faults   string
	seeds    int
	format   string
}

func (p *program) newRehearseCommand() *cobra.Command {
	r := &rehearsalRun{Session: p.Session}
	var at session.ApplicationFlag
	c := &cobra.Command{
		Use:   "rehearse [DIR | -c FILE]",
		Short: "Deploy to a simulated AWS like yours, with faults",
		Long: `Deploy the application to a simulated AWS like yours, with faults.

It runs your own pipeline, with its rollback, through each scenario of a catalogue in
virtual time: bad versions, lost zones, throttling, expired credentials, a sluice
process that is killed, people who edit the same rule. It counts the requests that
would be lost, the share of the new version, and the time until a bad version gets no
traffic. It changes nothing in AWS.

The simulated service is as the files describe it. With --from-live, the task counts,
the timings of health checks and drains, and the rules are those of the running
service. sluice only reads them.

Exit code 1: a scenario loses requests that a deployment can avoid losing, or does
not end safely.`,
		Example: `  sluice rehearse examples/canary
  sluice rehearse --from-live --seeds 10
  sluice rehearse --faults crash-loop,zone-lost,killed
  sluice rehearse --output markdown >> "$GITHUB_STEP_SUMMARY"`,
		Args: session.AtMost(1),
		RunE: at.Run(func(c *cobra.Command, path string) error {
			if r.Flags.Output == session.JSON { // --json
				r.format = "json"
			}
			return r.runRehearsal(c.Context(), path)
		}),
	}
	at.Register(c)
	c.Flags().BoolVar(&r.fromLive, "from-live", false, "simulate the running service; only reads AWS")
	c.Flags().StringVar(&r.faults, "faults", "all", "`names` of scenarios, separated by commas, or all")
	_ = c.RegisterFlagCompletionFunc("faults", completeScenarios)
	c.Flags().IntVar(&r.seeds, "seeds", 3, "random seeds per scenario; the worst result is shown")
	c.Flags().StringVar(&r.format, "output", "text", "text, json or markdown")
	return c
}

func (r *rehearsalRun) runRehearsal(ctx context.Context, path string) error {
	scenarios, err := r.selectScenarios()
	if err != nil {
		return err
	}
	base, app, err := r.baseCase(ctx, path)
	if err != nil {
		return err
	}
	gaps, err := rehearsals.CheckGaps(app.Service, app.Task)
	if err != nil {
		return err
	}
	if scenarios, err = r.possibleScenarios(scenarios, app, base); err != nil {
		return err
	}
	if err := rehearsals.CheckWorld(base); err != nil {
		return err
	}
	began := time.Now()
	report := rehearsalReport{Service: base.World.Cluster + "/" + base.World.Service, Shape: r.shapeText(base.World),
		Advice: slices.Concat(gaps, shape.Advice(base.World, app), catalogue.MeasureDrain(base))}
	report.Rows, report.NotPlayed = r.runGoodFirst(base, scenarios, len(app.Pipeline))
	report.Took = time.Since(began)
	if err := r.printRehearsal(report); err != nil {
		return err
	}
	if report.countUnsafe() > 0 {
		return session.ExitStatus(sluice.ExitUsage)
	}
	return nil
}

// selectScenarios returns the scenarios that the flags select.
func (r *rehearsalRun) selectScenarios() ([]catalogue.Scenario, error) {
	wrong := func(err error) error {
		return &sluice.Error{Op: "sluice rehearse", Err: err, Next: "run sluice rehearse --help"}
	}
	if !slices.Contains(session.OutputWords(), r.format) {
		return nil, session.ChoiceError{Value: r.format, Words: session.OutputWords()}.OfFlag("sluice rehearse", "output")
	}
	if r.seeds < 1 {
		return nil, wrong(errors.New("--seeds must be at least 1"))
	}
	all := catalogue.Scenarios()
	if r.faults == "all" {
		return all, nil
	}
	var names []string
	for _, s := range all {
		names = append(names, s.Name)
	}
	var chosen []catalogue.Scenario
	for _, name := range strings.Split(r.faults, ",") {
		i := slices.Index(names, strings.TrimSpace(name))
		if i < 0 {
			if near := definition.Nearest(name, names); near != "" {
				return nil, wrong(fmt.Errorf("there is no scenario %q; did you mean %q?", name, near))
			}
			return nil, wrong(fmt.Errorf("there is no scenario %q; there are %s", name, strings.Join(names, ", ")))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// possibleScenarios returns the scenarios that can happen to the application. It returns an error if
// a scenario selected by name cannot happen.
func (r *rehearsalRun) possibleScenarios(all []catalogue.Scenario, app *appfile.Application,
	base rehearsals.Case) (some []catalogue.Scenario, err error) {
	for _, s := range all {
		switch {
		case s.AppliesTo(app) && s.HasEffect(base, max(1, len(app.Pipeline))):
			some = append(some, s)
		case r.faults != "all":
			return nil, &sluice.Error{Op: "sluice rehearse", Resource: app.File,
				Err:  fmt.Errorf("scenario %s does not apply to this application: %s", s.Name, s.Summary),
				Next: "leave the scenario out, or give --faults all, which skips it"}
		}
	}
	return some, nil
}

// baseCase returns the case that every scenario changes: the files and their simulated world.
func (r *rehearsalRun) baseCase(ctx context.Context, path string) (rehearsals.Case, *appfile.Application, error) {
	app, err := r.LoadApplication(path)
	if err != nil {
		return rehearsals.Case{}, nil, err
	}
	if app.Service == nil {
		_, err := shape.FromFiles(app) // the error says why the task cannot be rehearsed
		return rehearsals.Case{}, nil, err
	}
	at, err := r.Env.Disk.LocateApplication(path)
	if err != nil {
		return rehearsals.Case{}, nil, err
	}
	from, err := r.Flags.EnvironmentOf(r.Env, at)
	if err != nil {
		return rehearsals.Case{}, nil, err
	}
	c := rehearsals.Case{From: from}
	c.Files, c.File = at.Files, at.Name
	if !r.fromLive {
		c.World, err = shape.FromFiles(app)
		return c, app, err
	}
	account, clock, err := r.OpenAccountOf(ctx, app)
	if err != nil {
		return c, nil, err
	}
	defer r.ShowCalls()()
	c.World, err = shape.FromLive(ctx, account, clock, app)
	return c, app, err
}

// runGoodFirst runs the scenario of a good version before all others. If a good version is not deployed safely, the
// other scenarios show nothing, and their names are returned instead.
func (r *rehearsalRun) runGoodFirst(base rehearsals.Case, scenarios []catalogue.Scenario,
	stages int) (rows []catalogue.Row, notPlayed []string) {
	good := slices.IndexFunc(scenarios, catalogue.Scenario.IsGood)
	if good < 0 {
		return r.runScenarios(base, scenarios, stages), nil
	}
	others := slices.Delete(slices.Clone(scenarios), good, good+1)
	rows = r.runScenarios(base, scenarios[good:good+1], stages)
	if !rows[0].Safe {
		for _, s := range others {
			notPlayed = append(notPlayed, s.Name)
		}
		return rows, notPlayed
	}
	return append(rows, r.runScenarios(base, others, stages)...), nil
}

// runScenarios runs every scenario with every seed, on all processors.
func (r *rehearsalRun) runScenarios(base rehearsals.Case, scenarios []catalogue.Scenario,
	stages int) []catalogue.Row {
	rows, progress := make([]catalogue.Row, len(scenarios)), &rehearsalProgress{total: len(scenarios) * r.seeds}
	defer r.Terminal().NewStatusLine(progress.text).Close()
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var wait sync.WaitGroup
	for i, s := range scenarios {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			for seed := range r.seeds {
				c := s.Apply(base, max(1, stages))
				c.Seed = uint64(seed + 1)
				end := progress.begin(s.Name, seed+1)
				row := s.RowOf(c, rehearsals.Run(c))
				end()
				if seed == 0 || row.IsWorse(rows[i]) {
					rows[i] = row
				}
			}
		})
	}
	wait.Wait()
	return rows
}

// shapeText describes the simulated world in one line.
func (r *rehearsalRun) shapeText(w shape.World) string {
	from := "from the files, otherwise AWS's defaults"
	if r.fromLive {
		from = "from the running service"
	}
	s := fmt.Sprintf("%s, controller %s", sluice.Plural(w.Tasks, "task"), w.Controller)
	if w.Primary.ARN != "" {
		s += fmt.Sprintf(", health checks every %s (%d must pass), drain %s", plan.FormatDuration(w.Primary.Interval),
			w.Primary.Healthy, plan.FormatDuration(w.Primary.Drain))
	}
	if w.Start > 0 || w.Boot > 0 {
		s += fmt.Sprintf(", tasks run after %s", plan.FormatDuration(w.Start))
	}
	if w.Boot > 0 {
		s += fmt.Sprintf(" and respond %s later", plan.FormatDuration(w.Boot))
	}
	if w.Percents != (shape.Percents{}) {
		s += fmt.Sprintf(", %d%% to %d%% of them during a rolling update", w.Percents.Least, w.Percents.Most)
	}
	s += ", " + requestsText(w)
	if w.Scaling.Max > 0 {
		s += fmt.Sprintf(", autoscaling from %d to %d", w.Scaling.Min, w.Scaling.Max)
	}
	return s + "; " + from
}

// requestsText describes the requests of the simulated callers.
func requestsText(w shape.World) string {
	s := fmt.Sprintf("%d requests/s", cmp.Or(w.Rate, rehearsals.Rate))
	if w.Lasts > 0 {
		s += " that last " + plan.FormatDuration(w.Lasts)
	}
	if w.Rate == 0 {
		s += " (assumed; set rehearse.requests in the file)"
	}
	return s
}

// rehearsalReport is the output of sluice rehearse.
type rehearsalReport struct {
	Service string          `json:"service"`
	Shape   string          `json:"shape"`
	Rows    []catalogue.Row `json:"scenarios"`
	// NotPlayed are the scenarios that were left out, because a good version was not deployed safely.
	NotPlayed []string      `json:"notPlayed,omitempty"`
	Advice    []string      `json:"advice"`
	Took      time.Duration `json:"-"`
}

func (r rehearsalReport) countUnsafe() (n int) {
	for _, row := range r.Rows {
		if !row.Safe {
			n++
		}
	}
	return n
}

func (r *rehearsalRun) printRehearsal(report rehearsalReport) error {
	var err error
	switch r.format {
	case "json":
		err = show.WriteJSON(r.Env.Out, report, jsontext.WithIndent("  "))
	case "markdown":
		_, err = fmt.Fprint(r.Env.Out, report.markdownReport())
	default:
		_, err = fmt.Fprint(r.Env.Out, report.textReport(r.PaintFor(r.Env.Out)))
	}
	return err
}
