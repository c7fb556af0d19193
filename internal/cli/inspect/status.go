package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/cli/show"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/survey"
)

func (p *program) newStatusCommand() *cobra.Command {
	t := session.DeploymentCommand{Name: "status"}
	events, follow := -1, false
	t.RunSeveral = func(ctx context.Context, paths []string) error {
		if follow {
			return &sluice.Error{Op: "sluice status", Err: errors.New("--watch shows one service, but several are named"),
				Next: "leave --watch out, or name one"}
		}
		return session.Named{Paths: paths, IsGiven: true, AreSeveral: true}.Run(ctx, p.Session, t.Name,
			func(ctx context.Context, s *session.Session, path string, given bool) (string, error) {
				return (&program{Session: s}).runStatus(ctx, path, given, events, false)
			})
	}
	c := t.New(p.Session, "Show the state of a service and its deployment",
		`Show the state of a service: its task sets, tasks and targets, the requested and the
actual weights of its rules, which tasks are registered under its Cloud Map names, and
the deployment that runs or ran last. For a rolling service, it also shows ECS's
deployments, why tasks fail, and the newest events. For a service that CodeDeploy
deploys, it also shows the deployment with its lifecycle, and both task sets with their
traffic. It makes no changes.

With --watch it prints the state again after each change, until the running deployment
ends, or until Ctrl-C if none runs. `+session.IDHelp+"\n\n"+session.SeveralHelp,
		`  sluice status
  sluice status examples/canary
  sluice status prod/web               a service, without files
  sluice status web api prod/worker    each of them
  sluice status --watch --events 20
  sluice status --output json | jq .taskSets`,
		func(c *cobra.Command, path string, given bool) error {
			if events < 0 && c.Flags().Changed("events") {
				return &sluice.Error{Op: "sluice status", Err: errors.New("--events is below 0"),
					Next: "give 0 or more"}
			}
			_, err := p.runStatus(c.Context(), path, given, events, follow)
			return err
		})
	c.Flags().IntVar(&events, "events", -1,
		"number of the service's newest events to show (default: 5 for a rolling service, otherwise 0)")
	c.Flags().BoolVar(&follow, "watch", false, "print the state again after each change")
	return c
}

// DeploymentReport is the newest deployment of the service in the journal.
type DeploymentReport struct {
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
	// Later is the revision that serves, if others deployed it after the deployment had ended.
	Later string   `json:"later,omitempty"`
	left  []string // see [RevisionsLeft]; and the last one that it reported
	// Gates are the figures of the gates of the stage that runs.
	Gates []string `json:"gates,omitempty"`
}

type stageReport struct {
	Number int    `json:"number"` // from 1
	Name   string `json:"name"`
	What   string `json:"what,omitempty"`
	Status string `json:"status,omitempty"` // empty: not begun
}

func (p *program) runStatus(ctx context.Context, path string, given bool, events int, follow bool) (result string,
	err error) {
	j, err := p.FindJournal()
	if err != nil {
		return "", err
	}
	if missing := p.JournalFile().CheckExists(); missing != nil {
		fmt.Fprintf(p.Env.Err, "note: there is no journal %s, so that no deployment is shown\n", p.JournalFile().Path)
	}
	if j != nil {
		defer j.Close()
	}
	if follow {
		return "", p.watchStatus(ctx, j, path, given, events)
	}
	t, err := p.readStatus(ctx, j, path, given, events)
	if err != nil {
		return "", err
	}
	if p.Flags.Output == session.JSON {
		t.Undescribed = t.undescribedTexts()
		return "", show.WriteJSON(p.Env.Out, t)
	}
	return t.summary(), t.writeText(p.Env.Out, p.PaintFor(p.Env.Out), p.NextStep)
}

// summary describes the state of a service in a few words.
func (t *ServiceReport) summary() string {
	text := "not found"
	switch {
	case session.IsTaskRun(t.Service):
		text = sluice.Plural(len(t.Tasks), "task")
	case t.Status != "":
		text = fmt.Sprintf("%s, %d of %d running", t.Status, t.Running, t.Desired)
	}
	if d := t.Deployment; d != nil {
		text += ", deployment " + cmp.Or(string(d.Outcome), string(d.State))
	}
	switch c := t.Callers; {
	case slices.ContainsFunc(t.Names, func(n nameReport) bool { return n.Problem != "" }):
		text += ", callers do not reach it"
	case c == nil || len(c.Problems) == 0:
	case c.isReached():
		text += ", no healthy target"
	default:
		text += ", callers do not reach it"
	}
	return text
}

// readStatus reads the state of the service of an application or of a deployment.
func (p *program) readStatus(ctx context.Context, j *journal.Journal, path string, given bool,
	events int) (*ServiceReport, error) {
	if of, isService := p.Env.Disk.ServiceAt(path); given && isService {
		return p.readServiceStatus(ctx, j, of, events)
	}
	if !session.IsDeploymentID(path) {
		if t, found, err := p.readAppStatus(ctx, j, path, given, events); found || err != nil {
			return t, err
		}
	}
	if j == nil {
		return nil, &sluice.Error{Op: "show the status", Kind: sluice.NotFound,
			Err: errors.New("the current directory has no application file, and there is no journal " +
				p.JournalFile().Path),
			Next: "name the folder of the application: sluice status DIR"}
	}
	d, err := p.Deployments(j).Find(ctx, "status", path, given)
	if err != nil {
		return nil, err
	}
	t := &session.Opened{Journal: j, Deployment: d}
	if err := t.EnterAccount(ctx, p.Session); err != nil {
		return nil, err
	}
	s := TargetOfPlan(t.Plan)
	s.events, s.requests = events, &p.requests
	out, err := ReadService(ctx, t.Account, t.Clock, s)
	if err != nil {
		return out, err
	}
	last, err := reportDeployment(ctx, p.Session, t)
	if err != nil {
		return out, err
	}
	return out, out.setDeployment(ctx, j, last)
}

// readServiceStatus reads the state of a service that is named without files. Its target groups are those of its newest
// deployment in the journal, or of its PRIMARY task set.
func (p *program) readServiceStatus(ctx context.Context, j *journal.Journal, of session.Service, events int) (*ServiceReport,
	error) {
	a, c, err := p.OpenAccount(ctx, "", "")
	if err != nil {
		return nil, err
	}
	s := StatusTarget{cluster: of.Cluster, service: of.Name, fromAWS: true}
	var last *DeploymentReport
	if j != nil {
		var pl *plan.Plan
		if last, pl, err = p.latestReport(ctx, j, a, s); err != nil {
			return nil, err
		}
		if pl != nil {
			s = TargetOfPlan(pl)
		}
	}
	s.events, s.requests = events, &p.requests
	t, err := ReadService(ctx, a, c, s)
	service := ecs.Service{API: a.ECS(), Cluster: of.Cluster, Name: of.Name}
	switch {
	case err != nil:
		return nil, p.Env.Disk.NoSuchService(of, err)
	case t.Status == "" && last == nil:
		return nil, p.Env.Disk.NoSuchService(of, survey.NoServiceError(ctx, service, "correct the service's name"))
	}
	return t, t.setDeployment(ctx, j, last)
}

// readAppStatus reads the state of the service of the application at a path. found is false if there
// is no application file.
func (p *program) readAppStatus(ctx context.Context, j *journal.Journal, path string, given bool,
	events int) (t *ServiceReport, found bool, err error) {
	app, err := p.LoadNames(path)
	switch {
	case err != nil && path == "all" && session.IsNoApplication(err):
		return nil, false, &sluice.Error{Op: "show the status", Resource: path, Err: errors.New("there is no folder all"),
			Next: "run sluice history to list the deployments of all services, or sluice status DIR for each"}
	case err != nil && !given && session.IsNoApplication(err):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	}
	a, c, err := p.OpenAccountOf(ctx, app)
	if err != nil {
		return nil, false, err
	}
	s := targetOfApp(app)
	s.events, s.requests = events, &p.requests
	if t, err = ReadService(ctx, a, c, s); err != nil || j == nil {
		return t, true, err
	}
	last, _, err := p.latestReport(ctx, j, a, s)
	if err != nil {
		return t, true, err
	}
	return t, true, t.setDeployment(ctx, j, last)
}

// setDeployment sets the deployment of the journal, nil if it has none, and whether others have deployed the service
// since. j may be nil.
func (t *ServiceReport) setDeployment(ctx context.Context, j *journal.Journal, last *DeploymentReport) error {
	t.Deployment = last
	if claim, err := plan.ParseClaim(t.Claim); err == nil && j != nil {
		_, err := j.Deployment(ctx, claim.Deployment)
		switch {
		case errors.Is(err, journal.ErrNotFound):
			t.OtherJournal = claim.Deployment
		case err != nil:
			return err
		}
	}
	serving := t.Serving()
	if last != nil && serving != "" && len(last.left) > 0 && !slices.Contains(last.left, serving) {
		last.Later = serving
	}
	return nil
}

// RevisionsLeft returns the revisions of which one serves after a deployment that has ended, if no other followed. It
// returns none if that is not known. to is the revision of the deployment.
func RevisionsLeft(d journal.Deployment, pl *plan.Plan, to string, events []sluice.Envelope) []string {
	switch {
	case d.State != journal.Ended:
		return nil
	case d.Outcome == sluice.Succeeded:
		if to = show.LastPrimaryRevision(events); to == "" {
			return nil
		}
		return []string{to}
	case pl.From == "":
		return nil
	case d.Outcome == sluice.RolledBack:
		return []string{pl.From}
	case pl.Mode().HasVariants():
		return nil // its canary has to be removed, which no other deployment does
	}
	return []string{pl.From, to}
}

// latestReport returns the newest deployment of the service in this account and its plan, or nil.
func (p *program) latestReport(ctx context.Context, j *journal.Journal, a *account.Account,
	s StatusTarget) (*DeploymentReport, *plan.Plan, error) {
	id, err := a.ID(ctx)
	if err != nil {
		return nil, nil, err
	}
	at := p.Endpoint(ctx)
	d, err := j.LatestDeployment(ctx, journal.Filter{Account: id, Region: a.Region(), Cluster: s.cluster,
		Service: s.service, At: &at})
	if errors.Is(err, journal.ErrNotFound) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	t := &session.Opened{Journal: j, Deployment: d}
	if t.Plan, err = session.ReadPlan(d); err != nil {
		return nil, nil, err
	}
	out, err := reportDeployment(ctx, p.Session, t)
	return out, t.Plan, err
}

// reportDeployment returns the progress of a deployment, computed from the journal.
func reportDeployment(ctx context.Context, s *session.Session, t *session.Opened) (*DeploymentReport, error) {
	d := t.Deployment
	revision, err := DeployedRevision(ctx, t.Journal, d.ID, t.Plan)
	if err != nil {
		return nil, err
	}
	out := &DeploymentReport{ID: d.ID, State: d.State, Outcome: d.Outcome, Cause: d.Cause, From: t.Plan.From,
		To: cmp.Or(revision, t.Plan.To)}
	b := show.NewBoard(t.Plan)
	events, err := t.Journal.Events(ctx, d.ID, 0, 0)
	if err != nil {
		return nil, err
	}
	for _, e := range events {
		b.ApplyEvent(e)
	}
	if out.left = RevisionsLeft(d, t.Plan, out.To, events); len(out.left) > 0 {
		out.left = append(out.left, show.LastPrimaryRevision(events))
	}
	out.Gates = b.GateTexts()
	out.Requested, out.Waiting = b.RequestedWeights(), b.WaitingText()
	out.Stages = reportStages(t.Plan, b)
	out.Runner, err = s.Env.RunningProcess(ctx, t.Journal, t.Deployment)
	return out, err
}

func reportStages(pl *plan.Plan, b *show.Board) []stageReport {
	var all []stageReport
	for i, status := range b.StageStatuses() {
		what := pl.Stage(i)
		all = append(all, stageReport{Number: i + 1, Name: what.Name, What: mode.StageText(pl, what), Status: status})
	}
	return all
}

// PrintService prints, as text, the state of the service of a deployment.
func PrintService(ctx context.Context, s *session.Session, t *session.Opened) error {
	tree, err := ReadService(ctx, t.Account, t.Clock, TargetOfPlan(t.Plan))
	if err != nil {
		return err
	}
	if t.Deployment, err = t.Journal.Deployment(ctx, t.Deployment.ID); err != nil {
		return err
	}
	if tree.Deployment, err = reportDeployment(ctx, s, t); err != nil {
		return err
	}
	return tree.writeText(s.Env.Out, s.PaintFor(s.Env.Out), s.NextStep)
}
