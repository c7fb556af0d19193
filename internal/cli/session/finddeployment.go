package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// ReadPlan returns the plan of a deployment.
func ReadPlan(d journal.Deployment) (*plan.Plan, error) {
	p := &plan.Plan{}
	if err := json.Unmarshal(d.Plan, p); err != nil {
		return nil, &sluice.Error{Op: "read the plan of the deployment", Resource: d.ID, Err: err}
	}
	return p, nil
}

// IsDeploymentID reports whether s is a deployment's ID, or the first characters of one, and not a folder.
func IsDeploymentID(s string) bool { return strings.HasPrefix(s, plan.IDPrefix) }

// Deployments are those of a journal, for a command.
type Deployments struct {
	session *Session
	journal *journal.Journal // nil: there are none
}

// Deployments returns the deployments of a journal; nil: none.
func (s *Session) Deployments(j *journal.Journal) Deployments { return Deployments{s, j} }

// Find finds the deployment of a command. It returns the named one, or the newest of the named
// service. Without a name it returns the newest of the application at path, or without an application file
// the only one that has not ended.
func (d Deployments) Find(ctx context.Context, verb, path string, given bool) (journal.Deployment, error) {
	s := d.session
	if given && IsDeploymentID(path) {
		return d.ByID(ctx, path)
	}
	if of, isService := s.Env.Disk.ServiceAt(path); given && isService {
		newest, err := d.NewestOf(ctx, verb, journal.Filter{Cluster: of.Cluster, Service: of.Name})
		return newest, d.noDeploymentOf(ctx, of, err)
	}
	app, err := s.LoadNames(path)
	if err != nil && (given || !IsNoApplication(err)) {
		return journal.Deployment{}, err
	}
	if err == nil {
		return d.NewestOf(ctx, verb, journal.Filter{Cluster: app.ClusterName(), Service: ServiceOrGroup(app),
			Region: app.Region})
	}
	noFile := err
	open, err := d.Open(ctx, journal.Filter{})
	if err != nil {
		return journal.Deployment{}, err
	}
	if len(open) == 1 {
		return open[0], nil
	}
	why := "the current directory has no application file, and " + underwayText(len(open))
	if below := applicationsBelow(noFile); len(open) == 0 && len(below) > 0 {
		next := sluice.NextStep(noFile)
		if len(below) > 1 {
			next = "name one of them: sluice " + verb + " DIR" // which one is meant decides what is changed
		}
		return journal.Deployment{}, &sluice.Error{Op: "find the deployment", Kind: sluice.NotFound,
			Err: fmt.Errorf("%s; folders with one: %s", why, definition.ListNames(below)), Next: next}
	}
	return journal.Deployment{}, ambiguousError(verb, why, open)
}

// ByID returns the deployment with an ID, or the only one whose ID begins so.
func (d Deployments) ByID(ctx context.Context, id string) (journal.Deployment, error) {
	all, err := d.journal.Deployments(ctx, journal.Filter{IDPrefix: id})
	if i := slices.IndexFunc(all, func(x journal.Deployment) bool { return x.ID == id }); i >= 0 {
		all = all[i : i+1]
	}
	switch {
	case err != nil:
		return journal.Deployment{}, err
	case len(all) == 1:
		d.session.line.setPlaceOf(all[0])
		return all[0], nil
	case len(all) > 1:
		return journal.Deployment{}, manyDeploymentsError(id, all)
	}
	return journal.Deployment{}, &sluice.Error{Op: "find the deployment", Resource: id, Kind: sluice.NotFound,
		Err:  fmt.Errorf("the deployment is not in the journal %s", d.journal.Path()),
		Next: "run sluice history to list the deployments, or select another journal with --state"}
}

// maxListed is how many deployments an error lists.
const maxListed = 10

// manyDeploymentsError returns the error if several IDs begin alike. It lists the newest deployments.
func manyDeploymentsError(id string, all []journal.Deployment) error {
	why := fmt.Sprintf("%d deployments have an ID that begins so:", len(all)) + deploymentLines(all[:min(len(all), maxListed)])
	if more := len(all) - maxListed; more > 0 {
		why += fmt.Sprintf("\n  and %d older", more)
	}
	return &sluice.Error{Op: "find the deployment", Resource: id, Err: errors.New(why),
		Next: "give more characters of the ID"}
}

// ErrNoDeployment means that the journal has no deployment of a service.
var ErrNoDeployment = errors.New("no deployment of the service")

// NewestOf returns the newest deployment of a service. It returns an error if the journal has
// the same name in several accounts or Regions, because these are different services.
func (d Deployments) NewestOf(ctx context.Context, verb string, f journal.Filter) (journal.Deployment, error) {
	f.Region = cmp.Or(d.session.Flags.Region, f.Region)
	at := d.session.Endpoint(ctx)
	f.At = &at
	all, err := d.journal.Deployments(ctx, f)
	if err != nil {
		return journal.Deployment{}, err
	}
	if len(all) == 0 {
		return journal.Deployment{}, noDeploymentError(ctx, d.journal, verb, f)
	}
	for _, x := range all {
		if x.Account != all[0].Account || x.Region != all[0].Region {
			return journal.Deployment{},
				ambiguousError(verb, "there are deployments of "+f.Cluster+"/"+f.Service+
					" in several accounts or Regions", all)
		}
	}
	return all[0], nil
}

// noDeploymentError returns the error if the journal has no deployment of a service at the endpoint.
// It mentions those of other endpoints.
func noDeploymentError(ctx context.Context, j *journal.Journal, verb string, f journal.Filter) error {
	e := &sluice.Error{Op: verb, Resource: f.Cluster + "/" + f.Service, Kind: sluice.NotFound,
		Err: fmt.Errorf("%w is in the journal %s", ErrNoDeployment, j.Path()),
		Next: "run sluice status " + f.Cluster + "/" + f.Service + " to see whether a deployment of another journal has the " +
			"service; name that journal with --state"}
	at := *f.At
	f.At, f.Limit = nil, 1
	others, err := j.Deployments(ctx, f)
	if err != nil {
		return err
	}
	if len(others) > 0 {
		e.Err = fmt.Errorf("%w at %s is in the journal %s; its last one was at %s", ErrNoDeployment,
			EndpointText(at), j.Path(), formerEndpointText(at, others[0].Endpoint))
		e.Next = "run sluice deploy to create one, or run sluice history --all to list those of all endpoints"
	}
	return e
}

// ambiguousError returns an error that lists the possible deployments.
func ambiguousError(verb, why string, all []journal.Deployment) error {
	next := "name one: sluice " + verb + " ID"
	if len(all) == 0 {
		next = "run sluice history to list the deployments"
	}
	return &sluice.Error{Op: "find the deployment", Kind: sluice.NotFound, Err: errors.New(why + deploymentLines(all)), Next: next}
}

// deploymentLines describes each deployment on a line of its own, after the line before.
func deploymentLines(all []journal.Deployment) string {
	var b strings.Builder
	for _, d := range all {
		fmt.Fprintf(&b, "\n  %s  %s/%s  %s  %s", d.ID, d.Cluster, d.Service, d.Region, d.State)
	}
	return b.String()
}

// underwayText describes how many deployments have not ended.
func underwayText(n int) string {
	switch n {
	case 0:
		return "no deployment is under way"
	case 1:
		return "1 deployment is under way"
	}
	return fmt.Sprintf("%d deployments are under way", n)
}

// Open returns the deployments of a filter that have not ended, at the endpoint of the calls.
func (d Deployments) Open(ctx context.Context, of journal.Filter) ([]journal.Deployment, error) {
	if d.journal == nil {
		return nil, nil
	}
	at := d.session.Endpoint(ctx)
	of.At, of.Open = &at, true
	return d.journal.Deployments(ctx, of)
}
