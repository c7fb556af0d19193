package survey

import (
	"context"
	"slices"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/codedeploy"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/history"
	"github.com/sluice-ecs/sluice/internal/verify"
)

// surveyDeploymentGroup finds the deployment group of a service that CodeDeploy deploys, or the
// reason why none can be chosen. A service that does not exist yet needs none.
func surveyDeploymentGroup(ctx context.Context, a *account.Account, app *appfile.Application, live *plan.AWSState) {
	if !verify.WantsCodeDeploy(app) || live.Service == nil || live.Service.Status == nil || *live.Service.Status != "ACTIVE" {
		return
	}
	if c := live.Service.DeploymentController; c == nil || c.Type != "CODE_DEPLOY" {
		return // the plan refuses it
	}
	s, err := verify.FindDeploymentGroup(ctx, codedeploy.Client{API: a.CodeDeploy()}, app,
		codedeploy.Creators(live.TaskSets))
	if live.DeployerErr = verify.LocateGroup(app, err); err == nil {
		live.Deployer = planDeployer(s)
	}
}

func planDeployer(s codedeploy.GroupSettings) *plan.Deployer {
	d := &plan.Deployer{Application: s.Application, Group: s.Name, Config: s.Config, TargetGroups: s.TargetGroups,
		Listener:     s.Listener,
		TestListener: s.TestListener, RollbackEvents: s.RollbackEvents, Alarms: s.Alarms, Ready: s.Ready,
		Terminate: s.Terminate}
	if s.KeepBlue {
		d.Terminate = 0
	}
	if !s.Last.Ended() {
		d.Running = s.Last.ID
	}
	return d
}

// rollsBack reports whether a deployment of CodeDeploy is a rollback; id may be empty.
func rollsBack(ctx context.Context, cd codedeploy.Client, id string) (bool, error) {
	d, err := cd.GetDeployment(ctx, id)
	return d != nil && codedeploy.RollsBack(d), err
}

// surveyCodeDeployRollback chooses the revision that a rollback returns to, for a service with
// controller CODE_DEPLOY that another actor deployed.
func surveyCodeDeployRollback(ctx context.Context, a *account.Account, hand ecs.Service, live *plan.AWSState,
	to string) (history.Return, error) {
	cd := codedeploy.Client{API: a.CodeDeploy()}
	s, err := cd.FindGroup(ctx, codedeploy.Group{}, hand.Cluster, hand.Name, codedeploy.Creators(live.TaskSets))
	if err != nil {
		return history.Return{}, err
	}
	live.Deployer = planDeployer(s)
	var past []plan.PastShift
	if to == "" {
		if live.Deployer.RollsBack, err = rollsBack(ctx, cd, live.Deployer.Running); err != nil {
			return history.Return{}, err
		}
		if past, err = readPastShifts(ctx, a, cd, s.Group); err != nil {
			return history.Return{}, err
		}
	}
	return history.ChooseCodeDeployReturn(sluice.ARNName(hand.Cluster), *live, to, past)
}

// comparedRevisions is how many of the newest revisions of CodeDeploy's history are compared, to find copies.
const comparedRevisions = 10

// readPastShifts reads the history of a deployment group, newest first.
func readPastShifts(ctx context.Context, a *account.Account, cd codedeploy.Client, g codedeploy.Group) (
	[]plan.PastShift, error) {
	past, err := cd.PastShifts(ctx, g)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, p := range past {
		if len(names) < comparedRevisions && !slices.Contains(names, p.Revision) {
			names = append(names, p.Revision)
		}
	}
	contents, err := readContents(ctx, a, names)
	for i, p := range past {
		past[i].Content = contents[p.Revision]
	}
	return past, err
}
