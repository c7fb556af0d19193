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
)

func (p *program) status() *cobra.Command {
	t := task{verb: "status"}
	events, follow := -1, false
	c := p.command(&t, "Show a service as it stands, and its deployment",
		`Show a service as it stands: its task sets, tasks and targets, the weights asked and
those that the rules have, who is found under its names of Cloud Map, and the deployment
that runs or ran last; of a rolling service ECS's deployments, why tasks fail, and its newest events; of one that CodeDeploy
deploys the deployment with its lifecycle, and both task sets with their traffic. It reads
only.

With --watch it is shown anew after each change: to the end of the deployment that
runs, or until Ctrl-C if none runs. `+idHelp,
		`  sluice status
  sluice status examples/canary
  sluice status --watch --events 20
  sluice status --output json | jq .taskSets`,
		func(c *cobra.Command, path string, given bool) error {
			if events < 0 && c.Flags().Changed("events") {
				return &sluice.Error{Op: "sluice status", Err: errors.New("--events is below 0"), Next: "give 0 or more"}
			}
			return p.runStatus(c.Context(), path, given, events, follow)
		})
	c.Flags().IntVar(&events, "events", -1, "how many of the service's newest events to show (default 5 of a rolling service, else none)")
	c.Flags().BoolVar(&follow, "watch", false, "show it anew after each change")
	return c
}

// deploymentReport is the newest deployment of the service in the journal.
type treeDeployment struct {
	ID      string          `json:"id"`
	State   journal.State   `json:"state"`
	Outcome sluice.Outcome  `json:"outcome,omitempty"`
	Cause   string          `json:"cause,omitempty"`
	From    string          `json:"from,omitempty"`
	To      string          `json:"to"`
	Runner  string          `json:"runBy,omitempty"` // "<host>/<pid>"
	Asked   *sluice.Weights `json:"asked,omitempty"`
	Stages  []treeStage     `json:"stages"`
	Waiting string          `json:"waiting,omitempty"`
}

type treeStage struct {
	Number int    `json:"number"` // from 1
	Name   string `json:"name"`
	What   string `json:"what,omitempty"`
	Status string `json:"status,omitempty"` // empty: not begun
}

func (p *program) runStatus(ctx context.Context, path string, given bool, events int, follow bool) error {
	j, err := p.journalIfAny()
	if err != nil {
		return err
	}
	if j != nil {
		defer j.Close()
	}
	if follow {
		return p.watchStatus(ctx, j, path, given, events)
	}
	t, err := p.stand(ctx, j, path, given, events)
	if err != nil {
		return err
	}
	if p.flags.output == jsonOut {
		t.Undescribed = t.undescribed()
		return json.NewEncoder(p.env.Out).Encode(t)
	}
	return treeView{painter(p.env, p.env.Out)}.write(p.env.Out, t)
}

// readStatus reads the state of the service of an application or of a deployment.
func (p *program) stand(ctx context.Context, j *journal.Journal, path string, given bool, events int) (*tree, error) {
	if !isID(path) {
		if t, found, err := p.standOf(ctx, j, path, given, events); found || err != nil {
			return t, err
		}
	}
	if j == nil {
		return nil, &sluice.Error{Op: "show the status", Kind: sluice.NotFound,
			Err: errors.New("here is no application file, and no journal " + p.statePath()), Next: "name the folder of the application: sluice status DIR"}
	}
	d, err := p.pick(ctx, j, "status", path, given)
	if err != nil {
		return nil, err
	}
	t := &taken{journal: j, deployment: d}
	if err := p.enter(ctx, t); err != nil {
		return nil, err
	}
	s := subjectOf(t.plan)
	s.events = events
	out, err := p.look(ctx, t.account, s)
	if err == nil {
		out.Deployment, err = p.deploymentOf(ctx, t)
	}
	return out, err
}

// readAppStatus reads the state of the service of the application at a path. found is false if there
// is no application file.
func (p *program) standOf(ctx context.Context, j *journal.Journal, path string, given bool, events int) (t *tree, found bool, err error) {
	app, err := p.application(path)
	switch {
	case err != nil && !given && absent(err):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	}
	a, _, err := p.open(ctx, app.Region)
	if err != nil {
		return nil, false, err
	}
	s := subjectIn(app)
	s.events = events
	if t, err = p.look(ctx, a, s); err != nil || j == nil {
		return t, true, err
	}
	t.Deployment, err = p.latest(ctx, j, a, s)
	return t, true, err
}

// latestReport returns the newest deployment of the service in this account, or nil.
func (p *program) latest(ctx context.Context, j *journal.Journal, a *account.Account, s subject) (*treeDeployment, error) {
	id, err := a.ID(ctx)
	if err != nil {
		return nil, err
	}
	d, err := j.Latest(ctx, id, a.Region(), s.cluster, s.service)
	if errors.Is(err, journal.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	t := &taken{journal: j, deployment: d}
	if t.plan, err = planOf(d); err != nil {
		return nil, err
	}
	return p.deploymentOf(ctx, t)
}

// reportDeployment returns the progress of a deployment, computed from the journal.
func (p *program) deploymentOf(ctx context.Context, t *taken) (*treeDeployment, error) {
	d := t.deployment
	out := &treeDeployment{ID: d.ID, State: d.State, Outcome: d.Outcome, Cause: d.Cause, From: t.plan.From, To: t.plan.To}
	b := newBoard(t.plan)
	events, err := t.journal.Events(ctx, d.ID, 0, 0)
	if err != nil {
		return nil, err
	}
	for _, e := range events {
		b.see(e)
	}
	if b.asked.Valid() {
		out.Asked = &b.asked
	}
	out.Waiting = cmp.Or(b.silent, b.current)
	out.Stages = stagesOf(t.plan, b)
	out.Runner, err = p.runner(ctx, t)
	return out, err
}

func stagesOf(pl *plan.Plan, b *board) []treeStage {
	var all []treeStage
	for i, s := range b.stages {
		if i == len(pl.Stages) && s.status == "" {
			break
		}
		what := pl.Stage(i)
		all = append(all, treeStage{Number: i + 1, Name: what.Name, What: stageWords(pl, what), Status: s.status})
	}
	return all
}
