package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/metrics"
	"github.com/sluice-ecs/sluice/internal/route/alb"
	"github.com/sluice-ecs/sluice/internal/stage/gates"
)

const (
	defaultPast = 24 * time.Hour
	// longestPast is how long CloudWatch keeps values of one minute (CloudWatch User Guide, "Metrics retention").
	longestPast = 15 * 24 * time.Hour
)

// newGateCommand returns the commands on metric gates.
func (p *program) newGateCommand() *cobra.Command {
	const group = "gates"
	c := &cobra.Command{
		Use:   "gate",
		Short: "Try metric gates on past metrics",
		Long:  "Try the metric gates of an application on past metrics.",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return c.Help()
			}
			return &sluice.Error{Op: "sluice gate", Err: fmt.Errorf("there is no command %q", args[0]),
				Next: "run " + session.ShellLine(append(strings.Fields("sluice gate test"), p.folderArguments(args)...))}
		},
	}
	c.AddGroup(&cobra.Group{ID: group, Title: "Gates:"})
	test := p.newGateTestCommand()
	test.GroupID = group
	c.AddCommand(test)
	return c
}

// folderArguments returns the arguments if they name a folder or a file, for the command that was probably meant.
func (p *program) folderArguments(args []string) []string {
	if len(args) == 1 && p.Env.Disk.Exists(args[0]) {
		return args
	}
	return nil
}

// gateTestFlags are the flags of sluice gate test.
type gateTestFlags struct {
	since time.Duration
	names []string
}

func (p *program) newGateTestCommand() *cobra.Command {
	var at session.ApplicationFlag
	f := gateTestFlags{since: defaultPast}
	c := &cobra.Command{
		Use:   "test [DIR | -c FILE]",
		Short: "Replay past metrics through the gates of an application",
		Long: `Replay past metrics through each gate of an application, minute by minute, and print
what the gate would have decided, when, and with which counts. It reads only.

A gate that compares variants is replayed in each time in which a canary got requests, as
if its stage had begun after the first minute of them. For a gate that counts requests, it
also prints how long the gate needs with as many requests as there were: for a canary as
good as the primary, twice as bad, and five times as bad. Another gate on a metric is
replayed as if its stage had begun again and again. Checks and alarms have no past.

The exit code is 0 whatever the gates decide, and 1 if metrics cannot be read.`,
		Example: `  sluice gate test
  sluice gate test examples/gates --since 72h
  sluice gate test --gate errors --output json | jq .gates`,
		Args: session.AtMost(1),
		RunE: at.Run(func(c *cobra.Command, path string) error { return p.runGateTest(c.Context(), path, f) }),
	}
	at.Register(c)
	c.Flags().DurationVar(&f.since, "since", defaultPast, "the `time` until now to replay, at most 360h")
	c.Flags().StringArrayVar(&f.names, "gate", nil, "`name` of a gate to replay (default: all gates)")
	if err := c.RegisterFlagCompletionFunc("gate", p.completeGates(&at)); err != nil {
		panic(err)
	}
	return c
}

// completeGates returns the shell completion of the names of gates.
func (p *program) completeGates(at *session.ApplicationFlag) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		path, _, err := at.Path(c, args)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		app, err := p.LoadApplication(path)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return gateNames(app.PlacedGates()), cobra.ShellCompDirectiveNoFileComp
	}
}

func gateNames(all []appfile.PlacedGate) (names []string) {
	for _, g := range all {
		if !slices.Contains(names, g.Name) {
			names = append(names, g.Name)
		}
	}
	return names
}

func (p *program) runGateTest(ctx context.Context, path string, f gateTestFlags) error {
	if f.since < time.Minute || f.since > longestPast {
		return &sluice.Error{Op: "sluice gate test", Err: fmt.Errorf("--since %s is not between 1m and 360h: CloudWatch "+
			"keeps the values of minutes for 15 days", f.since), Next: "give a time such as --since 24h"}
	}
	app, err := p.LoadApplication(path)
	if err != nil {
		return err
	}
	all, err := chooseGates(app, f.names)
	if err != nil {
		return err
	}
	defer p.ShowCalls()()
	from, err := p.openPast(ctx, app, all, f.since)
	if err != nil {
		return err
	}
	report := newGateTestReport(app, from, gates.ReplayAll(ctx, from, all))
	if err := p.printGateTest(report); err != nil {
		return err
	}
	if report.Unread > 0 {
		return session.ExitWith(sluice.ExitUsage)
	}
	return nil
}

// chooseGates returns the gates with these names; without names, all of them.
func chooseGates(app *appfile.Application, names []string) ([]appfile.PlacedGate, error) {
	all := app.PlacedGates()
	if len(all) == 0 {
		return nil, &sluice.Error{Op: "replay gates", Resource: app.File, Err: errors.New("the application has no gates"),
			Next: "add gates: docs/gates.md describes them"}
	}
	known := gateNames(all)
	for _, name := range names {
		if !slices.Contains(known, name) {
			next := "name one of: " + strings.Join(known, ", ")
			if meant := definition.Nearest(name, known); meant != "" {
				next = "run sluice gate test --gate " + meant
			}
			return nil, &sluice.Error{Op: "replay gates", Resource: app.File, Err: fmt.Errorf("there is no gate %q", name),
				Next: next}
		}
	}
	if len(names) == 0 {
		return all, nil
	}
	return slices.DeleteFunc(all, func(g appfile.PlacedGate) bool { return !slices.Contains(names, g.Name) }), nil
}

// openPast returns where the metrics of the gates are.
func (p *program) openPast(ctx context.Context, app *appfile.Application, all []appfile.PlacedGate,
	since time.Duration) (from gates.Past, err error) {
	a, c, err := p.OpenAccountOf(ctx, app)
	if err != nil {
		return from, err
	}
	now := c.Now()
	from = gates.Past{Account: a, Clock: c, OutsideAWS: p.Env.OutsideAWS(a)}
	if from.Span, err = gates.PastSpan(now.Add(-since), now); err != nil {
		return from, &sluice.Error{Op: "replay gates", Err: err, Next: "give a longer --since, such as --since 24h"}
	}
	if slices.ContainsFunc(all, func(g appfile.PlacedGate) bool { return g.Read.Signal != nil }) {
		from.Groups, err = groupsOf(ctx, a, app)
	}
	return from, err
}

// groupsOf returns the target groups of an application; nil if no Application Load Balancer has both.
func groupsOf(ctx context.Context, a *account.Account, app *appfile.Application) (*metrics.TargetGroups, error) {
	if app.Primary == nil || app.Canary == nil {
		return nil, nil
	}
	place, err := alb.FindGroup(ctx, a.ELB(), app.Primary.ARN)
	if err != nil || len(place.Listeners) == 0 {
		return nil, err
	}
	groups, ok := metrics.GroupsOf(place.Listeners[0], app.Primary.ARN, app.Canary.ARN)
	if !ok {
		return nil, nil
	}
	return &groups, nil
}
