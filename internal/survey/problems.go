package survey

import (
	"context"
	"fmt"
	"slices"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/route/cloudmap"
	"github.com/sluice-ecs/sluice/internal/signedread"
	"github.com/sluice-ecs/sluice/internal/verify"
	"github.com/sluice-ecs/sluice/internal/view"
)

// surveyProblems checks the resources that the deployment changes, before its first write. If the files change nothing,
// it checks only whether tags of images moved. A read that is denied is a problem of level [plan.Unread].
func surveyProblems(ctx context.Context, a *account.Account, app *appfile.Application, live *plan.AWSState) error {
	changed, deploys := changedMembers(app, *live)
	if deploys {
		if err := surveyOtherNames(ctx, a, app, live); err != nil {
			return err
		}
	}
	d := verify.Deployment{Deploys: deploys, Serving: live.Definition, Changes: func(member string) bool { return changed[member] }}
	if live.Service != nil {
		d.Tasks = live.Service.DesiredCount
	}
	found, err := verify.BeforeDeployment(ctx, app, readsOfPlan(a, live), d)
	addProblems(live, found)
	return err
}

// surveyHealthPorts checks the port of the health checks, if no target of a group passes them.
func surveyHealthPorts(ctx context.Context, a *account.Account, app *appfile.Application, live *plan.AWSState) {
	if slices.ContainsFunc(live.Callers.Groups, view.Group.FailsChecks) {
		addProblems(live, verify.HealthPorts(ctx, app, readsOfPlan(a, live)))
	}
}

// addProblems adds what a check found.
func addProblems(live *plan.AWSState, found []verify.Finding) {
	for _, f := range found {
		live.Problems = append(live.Problems, plan.Problem{Resource: f.Subject, Text: f.Detail, Next: f.Next,
			Place: f.Place, Level: levelOf(f), IsOfPipeline: f.IsOfPipeline})
	}
}

// readsOfPlan returns the reads of the checks before a deployment. They are of one Region, and the service was read.
func readsOfPlan(a *account.Account, live *plan.AWSState) verify.AWS {
	from := verify.Open(a, live.Account, func(_ context.Context, region string) (signedread.Reader, error) {
		return signedread.Reader{}, fmt.Errorf("a plan reads only from %s, and this is in %s; sluice verify reads it",
			a.Region(), region)
	})
	from.HasNetwork = func(context.Context, string, string) (bool, error) {
		return live.ServiceStatus() == "ACTIVE" && live.Service.NetworkConfiguration != nil, nil
	}
	from.ServingTasks = func(ctx context.Context, cluster, service string) ([]ecs.Task, error) {
		if live.IsFirstDeployment() {
			return nil, nil
		}
		return ecs.Service{API: a.ECS(), Cluster: cluster, Name: service}.ServingTasks(account.WithOptionalReads(ctx),
			*live.Service)
	}
	return from
}

func levelOf(f verify.Finding) plan.ProblemLevel {
	switch {
	case f.IsUnread:
		return plan.Unread
	case f.HasMoved:
		return plan.Moved
	case f.Status == verify.Error:
		return plan.Refuses
	}
	return plan.Warns
}

// changedMembers returns the members of the service definition that a deployment changes, and whether it deploys
// anything.
func changedMembers(app *appfile.Application, live plan.AWSState) (changed map[string]bool, deploys bool) {
	changed = map[string]bool{}
	if live.IsFirstDeployment() {
		return app.Service.Given, true
	}
	diffs, _ := definition.SplitFixed(definition.CompareService(app.Service, live.Service))
	diffs = append(diffs, definition.ComparePrimarySet(app.Service, live.Service)...)
	for _, d := range diffs {
		changed[definition.TopLevelMember(d.Path)] = true
	}
	return changed, len(diffs) > 0 || live.Identical == "" || live.Identical != live.ServingRevision()
}

// surveyOtherNames reads the registries in which ECS registers the tasks of the service and whose shares sluice does not
// manage.
func surveyOtherNames(ctx context.Context, a *account.Account, app *appfile.Application, live *plan.AWSState) error {
	_, _, isManaged := mode.RegistryOf(app)
	if isManaged {
		return nil
	}
	registries := app.Service.Input.ServiceRegistries
	if !app.Service.Given["serviceRegistries"] && !live.IsFirstDeployment() {
		registries = live.Service.ServiceRegistries
	}
	for _, r := range registries {
		if r.RegistryArn == nil {
			continue
		}
		arn := *r.RegistryArn
		name, err := cloudmap.FindRegistry(ctx, a.CloudMap(), arn, 0)
		switch sluice.KindOf(err) {
		case sluice.Denied:
			live.Problems = append(live.Problems, plan.Problem{Resource: "service registry " + sluice.ARNName(arn),
				Text: "it cannot be read: " + sluice.Inner(err).Error()})
			continue
		case sluice.NotFound:
			live.Problems = append(live.Problems, plan.Problem{Resource: "service registry " + sluice.ARNName(arn),
				Text: "it does not exist", Next: sluice.NextStep(err), Level: plan.Refuses})
			continue
		}
		if err != nil {
			return err
		}
		live.Names = append(live.Names, name)
		surveyCallersOfName(ctx, a, name, live)
	}
	return nil
}

// surveyCallersOfName reads what callers of a name get before the deployment. A plan can do without it.
func surveyCallersOfName(ctx context.Context, a *account.Account, r plan.Registry, live *plan.AWSState) {
	if live.ServiceStatus() != "ACTIVE" || live.Service.DesiredCount == 0 || live.Name != nil {
		return
	}
	name, err := cloudmap.DiscoverName(account.WithOptionalReads(ctx),
		cloudmap.InstanceClient{API: a.CloudMap(), Registry: r})
	if err == nil {
		live.Name = name
	}
}
