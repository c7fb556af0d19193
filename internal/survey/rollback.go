package survey

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/history"
)

// ReadRollbackInputs reads a service that another actor deployed, and its history. It chooses the
// revision that a rollback returns to; to is family:revision, or empty. It makes no write.
func ReadRollbackInputs(ctx context.Context, a *account.Account, c clock.Clock, cluster, service, to string) (plan.AWSState,
	history.Return, error) {
	live, back := plan.AWSState{Region: a.Region()}, history.Return{}
	var err error
	if live.Account, err = a.ID(ctx); err != nil {
		return live, back, err
	}
	hand := ecs.Service{API: a.ECS(), Cluster: cluster, Name: service,
		Confirm: func(ctx context.Context) error { return c.Sleep(ctx, ecs.ReadLag) }}
	if err := surveyServing(ctx, a, c, hand, &live); err != nil {
		return live, back, err
	}
	if live.Service == nil {
		return live, back, NoServiceError(ctx, hand, "check --cluster, --service and --region")
	}
	if made, exists := live.FindCanaryService(); exists && plan.IsSluiceID(made) {
		return live, back, canaryError(live, hand, sluice.ActionID(made).Deployment())
	}
	if history.ByCodeDeploy(live) {
		back, err = surveyCodeDeployRollback(ctx, a, hand, &live, to)
	} else {
		var past []plan.PastDeployment
		if history.KeepsHistory(live) {
			if past, err = readPast(ctx, a, hand); err != nil {
				return live, back, err
			}
		}
		back, err = history.ChooseReturn(sluice.ARNName(cluster), live.Service, past, to)
	}
	if err != nil || back.Nothing != "" {
		return live, back, err
	}
	back.Definition, err = ecs.ReadDefinition(ctx, a.ECS(), back.To)
	return live, back, adviseReturn(ctx, a, live, hand, back.To, err)
}

// adviseReturn adds to the error of a revision that is not registered the command with one that is, of the family that the
// service runs.
func adviseReturn(ctx context.Context, a *account.Account, live plan.AWSState, hand ecs.Service, to string, err error) error {
	var read *sluice.Error
	if err == nil || !errors.As(err, &read) || !ecs.IsRefused(err) {
		return err
	}
	family, _, _ := strings.Cut(live.ServingRevision(), ":")
	all, listErr := ecs.OlderRevisions(account.WithOptionalReads(ctx), a.ECS(), family, 0, 100)
	i := slices.IndexFunc(all, func(r ecs.Revision) bool { return r.Name != live.ServingRevision() })
	if listErr != nil || family == "" || len(all) == 0 {
		return err
	}
	service := sluice.ARNName(hand.Cluster) + "/" + hand.Name
	explained := *read
	if asked, _, _ := strings.Cut(to, ":"); asked != family {
		explained.Err = fmt.Errorf("%w; %s runs %s", read.Err, service, live.ServingRevision())
	}
	explained.Next = "deploy a new version: " + all[0].Name + " is the only registered one, and " + service + " runs it"
	if i >= 0 {
		explained.Next = fmt.Sprintf("name a registered one: sluice rollback --cluster %s --service %s --to %s",
			sluice.ARNName(hand.Cluster), hand.Name, all[i].Name)
	}
	return &explained
}

// readPast reads the history that ECS keeps of a service, newest first.
func readPast(ctx context.Context, a *account.Account, hand ecs.Service) ([]plan.PastDeployment, error) {
	past, err := hand.PastDeployments(ctx)
	if err != nil {
		return nil, err
	}
	contents, err := readContents(ctx, a, history.SharingImages(past))
	for i, p := range past {
		past[i].Content = contents[p.RevisionName()]
	}
	return past, err
}

// canaryError refuses to return a service by AWS's history while the canary service of a deployment exists: that would
// replace the version that serves, and leave the canary and its share of the requests.
func canaryError(live plan.AWSState, hand ecs.Service, deployment string) error {
	return &sluice.Error{Op: "roll the service back", Resource: sluice.ARNName(hand.Cluster) + "/" + hand.Name,
		Kind: sluice.Overtaken, Err: fmt.Errorf("deployment %s has a canary, service %s: a rollback of the service would replace %s, "+
			"which serves, and leave the canary", deployment, plan.CanaryServiceName(hand.Name), live.ServingRevision()),
		Next: "run sluice rollback " + deployment + " with its journal. If that is lost, run sluice rollback --adopt with the " +
			"application's files: it removes the canary"}
}
