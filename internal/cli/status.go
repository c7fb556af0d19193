package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
)

func (p *program) newStatusCommand() *cobra.Command {
	t := deploymentCommand{commandName: "status"}
	events, follow := -1, false
	c := p.newDeploymentCommand(&t, "Show the state of a service and its deployment",
		`Show the state of a service: its task sets, tasks and targets, the requested and the
actual weights of its rules, which tasks are registered under its Cloud Map names, and
the deployment that runs or ran last. For a rolling service, it also shows ECS's
deployments, why tasks fail, and the newest events. For a service that CodeDeploy
deploys, it also shows the deployment with its lifecycle, and both task sets with their
traffic. It makes no changes.

With --watch it prints the state again after each change, until the running deployment
ends, or until Ctrl-C if none runs. `+idHelp,
		`  sluice status
  sluice status examples/canary
  sluice status --watch --events 20
  sluice status --output json | jq .taskSets`,
		func(c *cobra.Command, path string, given bool) error {
			if events < 0 && c.Flags().Changed("events") {
				return &sluice.Error{Op: "sluice status", Err: errors.New("--events is below 0"),
					Next: "give 0 or more"}
			}
			return p.runStatus(c.Context(), path, given, events, follow)
		})
	c.Flags().IntVar(&events, "events", -1,
		"number of the service's newest events to show (default: 5 for a rolling service, otherwise 0)")
	c.Flags().BoolVar(&follow, "watch", false, "print the state again after each change")
	return c
}

// deploymentReport is the newest deployment of the service in the journal.
type deploymentReport struct {
	ID        string          `json:"id"`
	State     journal.State   `json:"state"`
	Outcome   sluice.Outcome  `json:"outcome,omitempty"`
	Cause     string          `json:"cause,omitempty"`
	From      string          `json:"from,omitempty"`
	To        string          `json:"to"`
	Runner    string          `json:"runBy,omitempty"` // "<host>/<pid>"
	Requested *sluice.Weights `json:"asked,omitempty"`
	Stages    []stageReport   `json:"stages"`
	Waiting   string          `json:"waiting,omitempty"`
}

type stageReport struct {
	Number int    `json:"number"` // from 1
	Name   string `json:"name"`
	What   string `json:"what,omitempty"`
	Status string `json:"status,omitempty"` // empty: not begun
}

func (p *program) runStatus(ctx context.Context, path string, given bool, events int, follow bool) error {
	j, err := p.findJournal()
	if err != nil {
		return err
	}
	if j != nil {
		defer j.Close()
	}
	if follow {
		return p.watchStatus(ctx, j, path, given, events)
	}
	t, err := p.readStatus(ctx, j, path, given, events)
	if err != nil {
		return err
	}
	if p.flags.output == jsonOut {
		t.Undescribed = t.undescribedTexts()
		return json.NewEncoder(p.env.Out).Encode(t)
	}
	return serviceView{newPaint(p.env, p.env.Out)}.writeService(p.env.Out, t)
}

// readStatus reads the state of the service of an application or of a deployment.
func (p *program) readStatus(ctx context.Context, j *journal.Journal, path string, given bool,
	events int) (*serviceReport, error) {
	if !isDeploymentID(path) {
		if t, found, err := p.readAppStatus(ctx, j, path, given, events); found || err != nil {
			return t, err
		}
	}
	if j == nil {
		return nil, &sluice.Error{Op: "show the status", Kind: sluice.NotFound,
			Err:  errors.New("the current directory has no application file, and there is no journal " + p.statePath()),
			Next: "name the folder of the application: sluice status DIR"}
	}
	d, err := p.findDeployment(ctx, j, "status", path, given)
	if err != nil {
		return nil, err
	}
	t := &openDeployment{journal: j, deployment: d}
	if err := p.enterAccount(ctx, t); err != nil {
		return nil, err
	}
	s := targetOfPlan(t.plan)
	s.events = events
	out, err := p.readService(ctx, t.account, s)
	if err == nil {
		out.Deployment, err = p.reportDeployment(ctx, t)
	}
	return out, err
}

// readAppStatus reads the state of the service of the application at a path. found is false if there
// is no application file.
func (p *program) readAppStatus(ctx context.Context, j *journal.Journal, path string, given bool,
	events int) (t *serviceReport, found bool, err error) {
	app, err := p.loadApplication(path)
	switch {
	case err != nil && !given && isNoApplication(err):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	}
	a, _, err := p.openAccount(ctx, app.Region)
	if err != nil {
		return nil, false, err
	}
	s := targetOfApp(app)
	s.events = events
	if t, err = p.readService(ctx, a, s); err != nil || j == nil {
		return t, true, err
	}
	t.Deployment, err = p.latestReport(ctx, j, a, s)
	return t, true, err
}

// latestReport returns the newest deployment of the service in this account, or nil.
func (p *program) latestReport(ctx context.Context, j *journal.Journal, a *account.Account,
	s statusTarget) (*deploymentReport, error) {
	id, err := a.ID(ctx)
	if err != nil {
		return nil, err
	}
	d, err := j.LatestDeployment(ctx, id, a.Region(), s.cluster, s.service)
	if errors.Is(err, journal.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	t := &openDeployment{journal: j, deployment: d}
	if t.plan, err = readPlan(d); err != nil {
		return nil, err
	}
	return p.reportDeployment(ctx, t)
}

// reportDeployment returns the progress of a deployment, computed from the journal.
func (p *program) reportDeployment(ctx context.Context, t *openDeployment) (*deploymentReport, error) {
	d := t.deployment
	out := &deploymentReport{ID: d.ID, State: d.State, Outcome: d.Outcome, Cause: d.Cause, From: t.plan.From,
		To: t.plan.To}
	b := newProgressBoard(t.plan)
	events, err := t.journal.Events(ctx, d.ID, 0, 0)
	if err != nil {
		return nil, err
	}
	for _, e := range events {
		b.applyEvent(e)
	}
	if b.requested.Valid() {
		out.Requested = &b.requested
	}
	out.Waiting = cmp.Or(b.silence, b.current)
	out.Stages = reportStages(t.plan, b)
	out.Runner, err = p.runningProcess(ctx, t)
	return out, err
}

func reportStages(pl *plan.Plan, b *progressBoard) []stageReport {
	var all []stageReport
	for i, s := range b.stages {
		if i == len(pl.Stages) && s.status == "" {
			break
		}
		what := pl.Stage(i)
		all = append(all, stageReport{Number: i + 1, Name: what.Name, What: mode.StageText(pl, what), Status: s.status})
	}
	return all
}
