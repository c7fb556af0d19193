package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/cli/show"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
)

func (p *program) newHistoryCommand() *cobra.Command {
	var at session.ApplicationFlag
	var limit int
	c := &cobra.Command{
		Use:   "history [ID | DIR | -c FILE]",
		Short: "List deployments, or the events of one",
		Long: `List the deployments of this journal, newest first: those of one application if you
name it, otherwise all. With an ID, list the events of that deployment.`,
		Example: `  sluice history
  sluice history examples/canary
  sluice history slc-01k0…`,
		Args: session.AtMost(1),
		RunE: func(c *cobra.Command, args []string) error {
			path, given, err := at.Path(c, args)
			if err != nil {
				return err
			}
			return p.runHistory(c.Context(), path, given, limit)
		},
	}
	at.Register(c)
	c.ValidArgsFunction = p.CompleteIDs(false)
	c.Flags().IntVar(&limit, "limit", 20, "maximum number of `deployments`; 0 lists all")
	return c
}

func (p *program) runHistory(ctx context.Context, path string, given bool, limit int) error {
	if limit < 0 {
		return &sluice.Error{Op: "sluice history", Err: errors.New("--limit is below 0"), Next: "give 0 or more"}
	}
	j, err := p.FindJournal()
	if err != nil {
		return err
	}
	if j == nil {
		p.PrintResult("no deployments: there is no journal " + p.StatePath())
		return nil
	}
	defer j.Close()
	if given && session.IsDeploymentID(path) {
		return p.printEvents(ctx, j, path)
	}
	f := journal.Filter{Region: p.Flags.Region, Limit: limit}
	if given {
		app, err := p.LoadApplication(path)
		if err != nil {
			return err
		}
		f = filterByService(f, app)
	}
	all, err := j.Deployments(ctx, f)
	if err != nil {
		return err
	}
	return p.printDeployments(all)
}

func filterByService(f journal.Filter, app *appfile.Application) journal.Filter {
	f.Cluster, f.Service = session.ClusterName(app), session.ServiceOrGroup(app)
	return f
}

// historyEntry is a deployment in a list, in JSON.
type historyEntry struct {
	ID      string         `json:"id"`
	Cluster string         `json:"cluster"`
	Service string         `json:"service"`
	Account string         `json:"account"`
	Region  string         `json:"region"`
	From    string         `json:"from,omitempty"`
	To      string         `json:"to,omitempty"`
	Trigger string         `json:"trigger"`
	State   journal.State  `json:"state"`
	Outcome sluice.Outcome `json:"outcome,omitempty"`
	Cause   string         `json:"cause,omitempty"`
	Began   time.Time      `json:"began"`
	Ended   time.Time      `json:"ended,omitzero"`
}

func newHistoryEntry(d journal.Deployment) historyEntry {
	e := historyEntry{ID: d.ID, Cluster: d.Cluster, Service: d.Service, Account: d.Account, Region: d.Region,
		Trigger: d.Trigger,
		State:   d.State, Outcome: d.Outcome, Cause: d.Cause, Began: d.Began, Ended: d.Ended}
	if pl, err := session.ReadPlan(d); err == nil {
		e.From, e.To = pl.From, pl.To
	}
	return e
}

func (p *program) printDeployments(all []journal.Deployment) error {
	if p.Flags.Output == session.JSON {
		for _, d := range all {
			if err := json.NewEncoder(p.Env.Out).Encode(newHistoryEntry(d)); err != nil {
				return err
			}
		}
		return nil
	}
	if len(all) == 0 {
		p.PrintResult("no deployments")
		return nil
	}
	w := tabwriter.NewWriter(p.Env.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tSERVICE\tREGION\tBEGAN\tTOOK\tHOW\tSTATE")
	for _, d := range all {
		state, lasted := string(d.State), "-"
		if d.State == journal.Ended {
			state, lasted = string(d.Outcome), show.FormatDuration(d.Ended.Sub(d.Began))
		}
		fmt.Fprintf(w, "%s\t%s/%s\t%s\t%s\t%s\t%s\t%s\n", d.ID, d.Cluster, d.Service, d.Region, show.FormatTime(d.Began),
			lasted, engine.TriggerText(d.Trigger), state)
	}
	return w.Flush()
}

// printEvents prints the events of one deployment.
func (p *program) printEvents(ctx context.Context, j *journal.Journal, id string) error {
	d, err := p.DeploymentByID(ctx, j, id)
	if err != nil {
		return err
	}
	events, err := j.Events(ctx, id, 0, 0)
	if err != nil {
		return err
	}
	r := p.Terminal().NewHistoryRenderer()
	for _, e := range events {
		r.ShowEvent(e)
	}
	r.Close()
	if d.State == journal.Ended {
		p.PrintResult(show.DeploymentSummary(d, show.LastPrimaryRevision(events)))
	}
	return nil
}
