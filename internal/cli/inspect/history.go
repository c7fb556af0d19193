package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/cli/show"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
)

func (p *program) newHistoryCommand() *cobra.Command {
	var at session.SeveralFlag
	var o historyOptions
	c := &cobra.Command{
		Use:   "history [ID… | DIR… | CLUSTER/SERVICE… | -c FILE]",
		Short: "List deployments, or the events of one",
		Long: `List the deployments of this journal, newest first: those of one application or
service if you name it, otherwise all. Each has the person who started it, the revision
that it deployed and the image of that. With an ID, or the first characters of one, list
the events of that deployment.

The list has the deployments of one endpoint: those of AWS, or with AWS_ENDPOINT_URL or
--endpoint-url those of that local AWS since its start or its last reset. --all lists
the deployments of all endpoints.

` + session.SeveralHelp,
		Example: `  sluice history
  sluice history examples/canary
  sluice history prod/web              a service, without files
  sluice history --all
  sluice history slc-01k0…`,
		RunE: at.RunNamed(p.Session, func(c *cobra.Command, n session.Named) error {
			return n.Run(c.Context(), p.Session, c.Name(),
				func(ctx context.Context, s *session.Session, path string, given bool) (string, error) {
					return (&program{Session: s}).runHistory(ctx, path, given, o)
				})
		}),
	}
	at.Register(c)
	c.ValidArgsFunction = session.CompleteIDs(p.Session, false, true)
	c.Flags().BoolVar(&o.all, "all", false, "list the deployments of all endpoints")
	c.Flags().IntVar(&o.limit, "limit", 20, "maximum number of `deployments`; 0 lists all")
	return c
}

// historyOptions are the flags of sluice history.
type historyOptions struct {
	limit int
	all   bool // of all endpoints
}

func (p *program) runHistory(ctx context.Context, path string, given bool, o historyOptions) (result string,
	err error) {
	if o.limit < 0 {
		return "", &sluice.Error{Op: "sluice history", Err: errors.New("--limit is below 0"), Next: "give 0 or more"}
	}
	if err := p.JournalFile().CheckExists(); err != nil {
		return "", err
	}
	j, err := p.FindJournal()
	if err != nil {
		return "", err
	}
	if j == nil {
		p.PrintResult("no deployments: there is no journal " + p.JournalFile().Path)
		return "no deployments", nil
	}
	defer j.Close()
	if given && session.IsDeploymentID(path) {
		return "", p.printEvents(ctx, j, path)
	}
	f := journal.Filter{Region: p.Flags.Region, Limit: o.limit}
	of, isService := p.Env.Disk.ServiceAt(path)
	switch {
	case isService && given:
		f.Cluster, f.Service = of.Cluster, of.Name
	case given:
		app, err := p.LoadNames(path)
		if err != nil {
			return "", err
		}
		f.Cluster, f.Service = app.ClusterName(), session.ServiceOrGroup(app)
	}
	if o.all {
		all, err := j.Deployments(ctx, f)
		if err != nil {
			return "", err
		}
		return deploymentsText(all), p.printDeployments(ctx, j, all, true)
	}
	at := p.Endpoint(ctx)
	f.At = &at
	all, err := j.Deployments(ctx, f)
	if err != nil {
		return "", err
	}
	if len(all) == 0 && isService && given {
		_, err := p.Deployments(j).Find(ctx, "history", path, given)
		return "", err
	}
	if err := p.printDeployments(ctx, j, all, false); err != nil {
		return "", err
	}
	return deploymentsText(all), p.noteOthers(ctx, j, f)
}

// deploymentsText describes a list of deployments in a few words.
func deploymentsText(all []journal.Deployment) string { return sluice.Plural(len(all), "deployment") }

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

// historyEntry is a deployment in a list, in JSON.
type historyEntry struct {
	ID      string `json:"id"`
	Cluster string `json:"cluster"`
	Service string `json:"service"`
	Account string `json:"account"`
	Region  string `json:"region"`
	// Endpoint is empty for AWS, and null if an older sluice recorded the deployment.
	Endpoint *string `json:"endpoint"`
	World    string  `json:"world,omitempty"` // ID of the local AWS's world
	From     string  `json:"from,omitempty"`
	To       string  `json:"to,omitempty"`
	Revision string  `json:"revision,omitempty"` // that it deployed; empty: not registered
	// Images are those of the containers, by container. Empty: the revision was not that of files.
	Images  map[string]string `json:"images,omitempty"`
	image   string            // for people
	Trigger string            `json:"trigger"`
	By      string            `json:"by,omitempty"` // who started it; empty: an older sluice recorded it
	State   journal.State     `json:"state"`
	Outcome sluice.Outcome    `json:"outcome,omitempty"`
	Cause   string            `json:"cause,omitempty"`
	Began   time.Time         `json:"began"`
	Ended   time.Time         `json:"ended,omitzero"`
}

func newHistoryEntry(ctx context.Context, j *journal.Journal, d journal.Deployment) (historyEntry, error) {
	e := historyEntry{ID: d.ID, Cluster: d.Cluster, Service: d.Service, Account: d.Account, Region: d.Region,
		World: d.Endpoint.World, Trigger: d.Trigger, By: d.By, State: d.State, Outcome: d.Outcome, Cause: d.Cause,
		Began: d.Began, Ended: d.Ended}
	if !d.Endpoint.Unrecorded {
		e.Endpoint = &d.Endpoint.URL
	}
	pl, err := session.ReadPlan(d)
	if err != nil {
		return e, nil // of an older sluice
	}
	if e.Revision, err = DeployedRevision(ctx, j, d.ID, pl); err != nil {
		return e, err
	}
	if pl.Adopts() && !pl.Deploys() { // it only removes leftovers, and the version of the files is not deployed
		e.Revision, e.From, e.To, e.image = pl.From, pl.From, pl.From, "-"
		return e, nil
	}
	e.From, e.To, e.Images = pl.From, cmp.Or(e.Revision, pl.To), planImages(pl)
	e.image = imageText(pl, e.Images)
	return e, nil
}

// DeployedRevision returns family:revision of what a deployment deploys, or "" if it is not registered.
func DeployedRevision(ctx context.Context, j *journal.Journal, id string, pl *plan.Plan) (string, error) {
	saved, err := engine.OpenMemory(j, id).Registration.Load(ctx)
	switch {
	case err != nil:
		return "", err
	case saved.Revision != nil:
		return saved.Revision.Name, nil
	case strings.Contains(pl.To, ":"):
		return pl.To, nil
	}
	return "", nil
}

// planImages returns the image of each container of a plan's task definition.
func planImages(pl *plan.Plan) map[string]string {
	var task struct {
		ContainerDefinitions []struct{ Name, Image string }
	}
	if json.Unmarshal(pl.Task, &task) != nil { // older journals, and plans without files
		return nil
	}
	images := map[string]string{}
	for _, c := range task.ContainerDefinitions {
		images[c.Name] = c.Image
	}
	return images
}

// imageText returns the image of the container that gets requests, or of the first one, in short form, and how many
// others there are.
func imageText(pl *plan.Plan, images map[string]string) string {
	if len(images) == 0 {
		return "-"
	}
	name := slices.Min(slices.Collect(maps.Keys(images)))
	if pl.Primary != nil && images[pl.Primary.Container] != "" {
		name = pl.Primary.Container
	}
	text := shortImage(images[name])
	if others := len(images) - 1; others > 0 {
		text += fmt.Sprintf(" +%d", others)
	}
	return text
}

// shortDigest is how many characters of a digest are shown after its algorithm.
const shortDigest = 12

// shortImage returns an image without its registry and path, and with a short digest.
func shortImage(image string) string {
	name, digest, hasDigest := strings.Cut(image, "@")
	name = name[strings.LastIndex(name, "/")+1:]
	if algorithm, hex, _ := strings.Cut(digest, ":"); hasDigest {
		return name + "@" + algorithm + ":" + hex[:min(len(hex), shortDigest)]
	}
	return name
}

// printDeployments prints a list of deployments, and if withEndpoint is set the endpoint of each.
func (p *program) printDeployments(ctx context.Context, j *journal.Journal, all []journal.Deployment,
	withEndpoint bool) error {
	if p.Flags.Output == session.JSON {
		for _, d := range all {
			e, err := newHistoryEntry(ctx, j, d)
			if err == nil {
				err = show.WriteJSON(p.Env.Out, e)
			}
			if err != nil {
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
	head, worlds := "ID\tSERVICE\tREGION\tBEGAN\tTOOK\tREVISION\tIMAGE\tHOW\tBY\tSTATE", map[string]int{}
	if withEndpoint {
		head += "\tENDPOINT"
	}
	fmt.Fprintln(w, head)
	for _, d := range all {
		state, lasted := string(d.State), "-"
		if d.State == journal.Ended {
			state, lasted = string(d.Outcome), show.FormatDuration(d.Took())
		}
		e, err := newHistoryEntry(ctx, j, d)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s\t%s/%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s", d.ID, d.Cluster, d.Service, d.Region,
			show.FormatTime(d.Began), lasted, cmp.Or(e.Revision, "-"), cmp.Or(e.image, "-"), d.Trigger,
			cmp.Or(d.By, "-"), state)
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
	d, err := p.Deployments(j).ByID(ctx, id)
	if err != nil {
		return err
	}
	events, err := j.Events(ctx, d.ID, 0, 0)
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
