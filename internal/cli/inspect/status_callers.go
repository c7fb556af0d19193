package inspect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/codedeploy"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/route/alb"
	"github.com/sluice-ecs/sluice/internal/survey"
	"github.com/sluice-ecs/sluice/internal/verify"
	"github.com/sluice-ecs/sluice/internal/view"
)

// unreached says of a rule that its callers get errors.
const unreached = "callers do not reach the service"

// callersReport is where callers of the service are sent.
type callersReport struct {
	Receives bool          `json:"receivesRequests"` // a rule gives weight to a target group of the service
	Routes   []routeReport `json:"routes,omitempty"`
	Problems []string      `json:"problems,omitempty"` // why callers get errors
	Next     string        `json:"next,omitempty"`     // the command that mends the first problem

	problems []view.Problem
}

// isReached reports whether callers reach the service, and the targets that they get fail their health checks.
func (c *callersReport) isReached() bool {
	return !slices.ContainsFunc(c.problems, func(p view.Problem) bool { return !p.FailsOpen })
}

// routeReport is a rule that names a target group of the service.
type routeReport struct {
	ARN     string         `json:"arn"`
	Name    string         `json:"name"`
	Forward []sluice.Share `json:"forward,omitempty"`
}

// addCallers reads the rules that name a target group of the service, in every mode. With CodeDeploy these are the ones of
// the production listener: without its deployment group a test listener cannot be told from it.
func (r serviceReader) addCallers(ctx context.Context) error {
	t := r.report
	read, err := readCallers(ctx, r.account, r.clock, r.target, &t.ServiceState)
	if t.Controller == "CODE_DEPLOY" {
		err = ignoreUnread(err) // without its deployment group
	}
	switch {
	case ecs.IsUnsupported(err):
		return nil
	case err != nil || len(read.Groups) == 0:
		return err
	}
	t.Callers = &callersReport{Receives: read.ReceivesRequests()}
	for _, x := range read.Routes {
		t.Callers.Routes = append(t.Callers.Routes, routeReport{ARN: x.ARN, Name: x.Name(), Forward: x.Forward})
	}
	if t.Desired == 0 {
		return nil
	}
	t.Callers.problems = read.Problems(view.Traffic{})
	for i, p := range t.Callers.problems {
		t.Callers.Problems = append(t.Callers.Problems, p.Why)
		if i == 0 {
			t.Callers.Next = p.Next()
		}
	}
	return nil
}

// readCallers reads the rules that name a target group of the service, of its deployment group or of its files.
func readCallers(ctx context.Context, a *account.Account, c clock.Clock, s StatusTarget,
	live *ecs.ServiceState) (view.Traffic, error) {
	scope := live.TrafficScope()
	if live.Controller == "CODE_DEPLOY" {
		g, err := codedeploy.Client{API: a.CodeDeploy()}.FindGroup(ctx, s.deployer, s.cluster, s.service, codedeploy.Creators(live.TaskSets))
		if err != nil {
			return view.Traffic{}, err
		}
		scope = scope.WithListeners(g.Listener, g.TestListener, g.TargetGroups)
	}
	return alb.ReadTraffic(ctx, a.ELB(), c, scope.WithFiles(s.groups.Primary, s.groups.Canary, s.groups.RuleARNs),
		view.Traffic{})
}

// verifyCallers checks that callers reach the service of the files, if it runs.
func verifyCallers(ctx context.Context, a *account.Account, c clock.Clock,
	app *appfile.Application) (all []verify.Finding, err error) {
	if app.Service == nil {
		return nil, nil
	}
	s := targetOfApp(app)
	live, err := ecs.Service{API: a.ECS(), Cluster: s.cluster, Name: s.service}.Observe(ctx)
	if err != nil || live == nil || live.Status != "ACTIVE" || live.Desired == 0 {
		return nil, ignoreUnread(err)
	}
	read, err := readCallers(ctx, a, c, s, live)
	if err != nil {
		return nil, ignoreUnread(err)
	}
	for _, p := range read.Problems(view.Traffic{}) {
		if p.Route.Gone != "" && slices.Contains(app.ListenerRules, p.Route.ARN) {
			continue // verifyRules reports it
		}
		all = append(all, verify.Finding{Status: verify.Error, Subject: p.Route.Name(),
			Detail: view.Describe(unreached, []view.Problem{p}), Next: p.Next()})
	}
	return all, nil
}

// verifyRules checks the rules that the files name under listenerRules.
func verifyRules(ctx context.Context, a *account.Account, app *appfile.Application) ([]verify.Finding, error) {
	if len(app.ListenerRules) == 0 {
		return nil, nil
	}
	reason, err := survey.CheckRules(ctx, a, app)
	if reason == nil || err != nil {
		return nil, ignoreUnread(err)
	}
	f := verify.Finding{Status: verify.Error, Subject: "listenerRules", Detail: reason.Error(), Next: sluice.NextStep(reason)}
	if e := (*sluice.Error)(nil); errors.As(reason, &e) {
		f.Subject, f.Detail = "listenerRules, "+sluice.ARNNames(nil).Shorten(e.Resource), e.Err.Error()
		f.Place = app.PlaceOfText(e.Resource)
	}
	return []verify.Finding{f}, nil
}

// ignoreUnread returns nil for a read that AWS denies, for a resource that does not exist, and for a deployment group that
// is one of several: other checks report them.
func ignoreUnread(err error) error {
	if kind := sluice.KindOf(err); ecs.IsUnsupported(err) || kind == sluice.NotFound || kind == sluice.Conflict {
		return nil
	}
	return err
}

// writeCallers writes the rules of a service without a canary, and what is wrong with the rules of any service.
func (v serviceView) writeCallers(b *bytes.Buffer, t *ServiceReport) {
	c := t.Callers
	if c == nil {
		return
	}
	for _, r := range c.Routes {
		if len(t.Rules) > 0 {
			break // their weights are shown
		}
		fmt.Fprintf(b, "%s: %s\n", r.Name, view.DescribeShares(r.Forward))
	}
	if !c.Receives && len(c.Problems) == 0 {
		fmt.Fprintln(b, view.NoRequests)
	}
	for _, p := range c.problems {
		fmt.Fprintln(b, v.Warn("warning: "+view.Describe(unreached, []view.Problem{p})))
	}
}
