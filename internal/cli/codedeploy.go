package cli

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/codedeploy"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// eventsFlag is a flag with a list of CodeDeploy rollback events. Set checks them.
type eventsFlag struct{ events *[]string }

func (f eventsFlag) String() string {
	if f.events == nil {
		return ""
	}
	return strings.Join(*f.events, ",")
}

func (f eventsFlag) Type() string { return "events" }

func (f eventsFlag) Set(s string) error {
	var all []string
	for _, e := range strings.Split(s, ",") {
		all = append(all, strings.TrimSpace(e))
	}
	if err := codedeploy.CheckEvents(all); err != nil {
		return err
	}
	*f.events = all
	return nil
}

// codeDeployBusyError returns an error if the deployment group already runs a deployment.
// CodeDeploy would refuse a second one.
func codeDeployBusyError(pre *preparedPlan) error {
	c, d := pre.plan.CodeDeploy, pre.state.Deployer
	if c == nil || d == nil || d.Running == "" || !c.Deploys {
		return nil
	}
	return codedeploy.BusyError(codedeploy.Group{Application: c.Application, Name: c.Group}, d.Running)
}

// hasOtherCodeDeploy reports whether the deployment group runs a CodeDeploy deployment. Call it
// after the deployment t has ended.
func hasOtherCodeDeploy(ctx context.Context, t *openDeployment) (bool, error) {
	c := t.plan.CodeDeploy
	if c == nil || c.Application == "" {
		return false, nil
	}
	id, err := codedeploy.Client{API: t.account.CodeDeploy()}.RunningDeployment(ctx,
		codedeploy.Group{Application: c.Application, Name: c.Group})
	return id != "", err
}

// continueCodeDeploy continues a CodeDeploy deployment that waits for a manual continue. done is
// false if no deployment waits.
func (p *program) continueCodeDeploy(ctx context.Context, j *journal.Journal, d journal.Deployment) (done bool,
	err error) {
	t := &openDeployment{journal: j, deployment: d}
	if err := p.enterAccount(ctx, t); err != nil {
		return false, err
	}
	done, err = p.newEngine(t.account, t.clock, j).ContinueCodeDeploy(ctx, d.ID)
	if done {
		p.printResult("continued: " + d.Cluster + "/" + d.Service + ", deployment " + d.ID)
	}
	return done, err
}

// warnNoRollback adds a warning if neither CodeDeploy nor sluice would roll back a failed
// deployment.
func warnNoRollback(pl *plan.Plan) {
	if c := pl.CodeDeploy; c != nil && c.Deploys && !slices.Contains(c.RollsBackOn, "DEPLOYMENT_FAILURE") {
		pl.Warnings = append(pl.Warnings,
			"CodeDeploy does not roll back after a failure (--rollback-events), and with --no-wait sluice does not "+
				"monitor the deployment: a failed deployment is not rolled back")
	}
}

// writeCodeDeploy writes what the plan requests from CodeDeploy.
func (v planView) writeCodeDeploy(b *bytes.Buffer, p *plan.Plan) {
	c := p.CodeDeploy
	if c == nil || !c.Deploys {
		return
	}
	row := func(name, format string, args ...any) {
		fmt.Fprintf(b, "  %s %s\n", padRight(name, 16), fmt.Sprintf(format, args...))
	}
	of := func(own bool) string {
		if own {
			return ""
		}
		return " (the group's)"
	}
	fmt.Fprintf(b, "\n%s\n", v.bold("CodeDeploy"))
	row("deployment group", "%s", c.Name())
	row("configuration", "%s%s", c.ConfigUsed, of(c.Config != ""))
	events := "no event: sluice rolls back, CodeDeploy does not"
	if len(c.RollsBackOn) > 0 {
		events = strings.Join(c.RollsBackOn, ", ")
	}
	if events += of(len(c.RollbackEvents) > 0); c.Returns {
		events = "no event: this revision has served before"
	}
	row("rolls back on", "%s", events)
	for _, h := range c.Hooks {
		row("hook", "%s: %s", h.Event, h.Function)
	}
	if c.AppSpec == "" {
		row("AppSpec", "SHA-256 is known after %s is registered", p.To)
		return
	}
	row("AppSpec", "SHA-256 %s", c.AppSpec)
}

// withConsolePage wraps show. When a CodeDeploy deployment is created, it also opens the
// deployment's page in the browser. It does so on a terminal and against real AWS only.
func (p *program) withConsolePage(region string, endpoints []string, show func(sluice.Envelope)) func(sluice.Envelope) {
	if p.env.OpenBrowser == nil || !p.env.IsTerminal(p.env.Out) || !p.env.IsTerminal(p.env.Err) ||
		!hasOnlyAWSEndpoints(endpoints) {
		return show
	}
	return func(e sluice.Envelope) {
		show(e)
		if w, ok := e.Open().(sluice.Wrote); ok && w.Operation == "codedeploy:CreateDeployment" && w.Cause == "" {
			p.env.OpenBrowser(codedeploy.ConsoleURL(region, w.Result))
		}
	}
}

// hasOnlyAWSEndpoints reports whether every service uses the default endpoint of AWS.
func hasOnlyAWSEndpoints(endpoints []string) bool {
	return !slices.ContainsFunc(endpoints, func(e string) bool { return e != "" })
}

// openBrowser opens a page with the machine's open or xdg-open command, if it has one. A failure
// is ignored, because the address is printed as well.
func openBrowser(url string) {
	for _, name := range []string{"open", "xdg-open"} {
		if path, err := exec.LookPath(name); err == nil {
			c := exec.Command(path, url)
			if c.Start() == nil {
				go c.Wait() // reap the process; its result does not matter
				return
			}
		}
	}
}
