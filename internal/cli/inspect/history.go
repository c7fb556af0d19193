package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	var o historyOptions
	c := &cobra.Command{
		Use:   "history [ID | DIR | -c FILE]",
		Short: "List deployments, or the events of one",
		Long: `List the deployments of this journal, newest first: those of one application if you
name it, otherwise all. With an ID, list the events of that deployment.

The list has the deployments of one endpoint: those of AWS, or with AWS_ENDPOINT_URL or
--endpoint-url those of that local AWS since its start or its last reset. --all lists
the deployments of all endpoints.`,
		Example: `  sluice history
  sluice history examples/canary
  sluice history --all
  sluice history slc-01k0…`,
		Args: session.AtMost(1),
		RunE: func(c *cobra.Command, args []string) error {
			path, given, err := at.Path(c, args)
			if err != nil {
				return err
			}
			return p.runHistory(c.Context(), path, given, o)
		},
	}
	at.Register(c)
	c.ValidArgsFunction = p.CompleteIDs(false, false)
	c.Flags().BoolVar(&o.all, "all", false, "list the deployments of all endpoints")
	c.Flags().IntVar(&o.limit, "limit", 20, "maximum number of `deployments`; 0 lists all")
	return c
}

// historyOptions are the flags of sluice history.
type historyOptions struct {
	limit int
	all   bool // of all endpoints
}

func (p *program) runHistory(ctx context.Context, path string, given bool, o historyOptions) error {
	if o.limit < 0 {
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
	f := journal.Filter{Region: p.Flags.Region, Limit: o.limit}
	if given {
		app, err := p.LoadApplication(path)
		if err != nil {
			return err
		}
		f = filterByService(f, app)
	}
	if o.all {
		all, err := j.Deployments(ctx, f)
		if err != nil {
			return err
		}
		return p.printDeployments(all, true)
	}
	at := p.Endpoint(ctx)
	f.At = &at
	all, err := j.Deployments(ctx, f)
	if err != nil {
		return err
	}
	if err := p.printDeployments(all, false); err != nil {
		return err
	}
	return p.noteOthers(ctx, j, f)
}

// noteOthers prints how many deployments a list leaves out because they are of other endpoints.
func (p *program) noteOthers(ctx context.Context, j *journal.Journal, f journal.Filter) error {
	at := *f.At
	f.At, f.Limit = nil, 0
	all, err := j.Deployments(ctx, f)
	if err != nil || p.Flags.Output == session.JSON {
		return err
	}
	others := 0
	for _, d := range all {
		if !at.Has(d.Endpoint) {
			others++
		}
	}
	if others > 0 {
		fmt.Fprintf(p.Env.Err, "not listed: %s at other endpoints or in earlier worlds of a local AWS\n"+
			"next: run sluice history --all to list them too\n", sluice.Plural(others, "deployment"))
	}
	return nil
}

func filterByService(f journal.Filter, app *appfile.Application) journal.Filter {
	f.Cluster, f.Service = session.ClusterName(app), session.ServiceOrGroup(app)
	return f
}

// historyEntry is a deployment in a list, in JSON.
type historyEntry struct {
	ID      string `json:"id"`
	Cluster string `json:"cluster"`
	Service string `json:"service"`
	Account string `json:"account"`
	Region  string `json:"region"`
	// Endpoint is empty for AWS, and null if an older sluice recorded the deployment.
	Endpoint *string        `json:"endpoint"`
	World    string         `json:"world,omitempty"` // ID of the local AWS's world
	From     string         `json:"from,omitempty"`
	To       string         `json:"to,omitempty"`
	Trigger  string         `json:"trigger"`
	State    journal.State  `json:"state"`
	Outcome  sluice.Outcome `json:"outcome,omitempty"`
	Cause    string         `json:"cause,omitempty"`
	Began    time.Time      `json:"began"`
	Ended    time.Time      `json:"ended,omitzero"`
}

func newHistoryEntry(d journal.Deployment) historyEntry {
	e := historyEntry{ID: d.ID, Cluster: d.Cluster, Service: d.Service, Account: d.Account, Region: d.Region,
		World: d.Endpoint.World, Trigger: d.Trigger, State: d.State, Outcome: d.Outcome, Cause: d.Cause, Began: d.Began, Ended: d.Ended}
	if !d.Endpoint.Unrecorded {
		e.Endpoint = &d.Endpoint.URL
	}
	if pl, err := session.ReadPlan(d); err == nil {
		e.From, e.To = pl.From, pl.To
	}
	return e
}

// printDeployments prints a list of deployments, and if withEndpoint is set the endpoint of each.
func (p *program) printDeployments(all []journal.Deployment, withEndpoint bool) error {
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
	w := show.NewTable(p.Env.Out)
	head, worlds := "ID\tSERVICE\tREGION\tBEGAN\tTOOK\tHOW\tSTATE", map[string]int{}
	if withEndpoint {
		head += "\tENDPOINT"
	}
	fmt.Fprintln(w, head)
	for _, d := range all {
		state, lasted := string(d.State), "-"
		if d.State == journal.Ended {
			state, lasted = string(d.Outcome), show.FormatDuration(d.Ended.Sub(d.Began))
		}
		fmt.Fprintf(w, "%s\t%s/%s\t%s\t%s\t%s\t%s\t%s", d.ID, d.Cluster, d.Service, d.Region, show.FormatTime(d.Began),
			lasted, engine.TriggerText(d.Trigger), state)
		if withEndpoint {
			fmt.Fprint(w, "\t"+endpointColumn(d.Endpoint, worlds))
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

// endpointColumn describes an endpoint. It numbers the worlds of a local AWS, the newest first.
func endpointColumn(e journal.Endpoint, worlds map[string]int) string {
	text := session.EndpointText(e)
	if e.World == "" {
		return text
	}
	if worlds[e.World] == 0 {
		worlds[e.World] = len(worlds) + 1
	}
	return fmt.Sprintf("%s, world %d", text, worlds[e.World])
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
	r := p.Terminal().NewHistoryRenderer(d.Application)
	for _, e := range events {
		r.ShowEvent(e)
	}
	r.Close()
	if d.State == journal.Ended {
		p.PrintResult(show.DeploymentSummary(d, show.LastPrimaryRevision(events)))
	}
	return nil
}
