package deploy

import (
	"context"
	"errors"
	"slices"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/codedeploy"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/watch"
)

// codeDeployBusyError returns an error if the deployment group already runs a deployment.
// CodeDeploy would refuse a second one.
func codeDeployBusyError(pre *preparedPlan) error {
	c, d := pre.plan.CodeDeploy, pre.state.Deployer
	if c == nil || d == nil || d.Running == "" || !c.Deploys {
		return nil
	}
	return codedeploy.BusyError(codedeploy.Group{Application: c.Application, Name: c.Group}, d.Running)
}

// hasOtherCodeDeploy reports whether the deployment group runs a CodeDeploy deployment. Call it
// after the deployment t has ended.
func hasOtherCodeDeploy(ctx context.Context, t *session.Opened) (bool, error) {
	c := t.Plan.CodeDeploy
	if c == nil || c.Application == "" {
		return false, nil
	}
	id, err := codedeploy.Client{API: t.Account.CodeDeploy()}.RunningDeployment(ctx,
		codedeploy.Group{Application: c.Application, Name: c.Group})
	return id != "", err
}

// continueCodeDeploy continues a CodeDeploy deployment that waits for a manual continue. done is
// false if no deployment waits.
func (p *program) continueCodeDeploy(ctx context.Context, t *session.Opened) (done bool, err error) {
	d := t.Deployment
	if err := t.EnterAccount(ctx, p.Session); err != nil {
		return false, err
	}
	done, err = p.NewEngine(t.Account, t.Clock, t.Journal).ContinueCodeDeploy(ctx, d.ID)
	if done {
		p.PrintResult("continued: " + d.Cluster + "/" + d.Service + ", deployment " + d.ID)
	}
	return done, err
}

// refuseUntil returns an error if the deployment would be followed until a lifecycle event, a stage or a pause that it
// cannot have.
func refuseUntil(pre *preparedPlan, how engine.Options) error {
	pl := pre.plan
	refuse := func(why string) error {
		return &sluice.Error{Op: "wait for " + how.Until, Resource: pl.Cluster + "/" + pl.Service, Err: errors.New(why),
			Next: "leave --wait-until out"}
	}
	ofECS := watch.IsOfECS(how.Until)
	switch {
	case how.Until == "":
		return nil
	case ofECS && (pl.Mode().Deployer() != "ECS" || !shiftsTraffic(pre)):
		return refuse(watch.NoStages)
	case ofECS, pl.CodeDeploy != nil && pl.CodeDeploy.Deploys:
		return nil
	case pl.CodeDeploy != nil:
		return refuse("this change creates no CodeDeploy deployment")
	}
	return refuse("CodeDeploy does not deploy the service, so there is no lifecycle event")
}

// shiftsTraffic reports whether the deployment strategy of the files, or of the service if the files have none, is one
// by which ECS shifts traffic.
func shiftsTraffic(pre *preparedPlan) bool {
	c := pre.app.Service.Input.DeploymentConfiguration
	if c == nil && pre.state.Service != nil {
		c = pre.state.Service.DeploymentConfiguration
	}
	return c != nil && c.Strategy != "" && c.Strategy != "ROLLING"
}

// warnNoRollback adds a warning if neither CodeDeploy nor sluice would roll back a failed
// deployment.
func warnNoRollback(pl *plan.Plan) {
	if c := pl.CodeDeploy; c != nil && c.Deploys && !slices.Contains(c.RollsBackOn, "DEPLOYMENT_FAILURE") {
		pl.Warnings = append(pl.Warnings,
			"CodeDeploy does not roll back after a failure (--rollback-events), and with --no-wait sluice does not "+
				"monitor the deployment: a failed deployment is not rolled back")
	}
}

// withConsolePage wraps show. When a CodeDeploy deployment is created, it also opens the
// deployment's page in the browser. It does so on a terminal and against real AWS only.
func (p *program) withConsolePage(region string, endpoints []string, show func(sluice.Envelope)) func(sluice.Envelope) {
	if p.Env.OpenBrowser == nil || !p.Env.IsTerminal(p.Env.Out) || !p.Env.IsTerminal(p.Env.Err) ||
		!hasOnlyAWSEndpoints(endpoints) {
		return show
	}
	return func(e sluice.Envelope) {
		show(e)
		if w, ok := e.Open().(sluice.Wrote); ok && w.Operation == "codedeploy:CreateDeployment" && w.Cause == "" {
			p.Env.OpenBrowser(codedeploy.ConsoleURL(region, w.Result))
		}
	}
}

// hasOnlyAWSEndpoints reports whether every service uses the default endpoint of AWS.
func hasOnlyAWSEndpoints(endpoints []string) bool {
	return !slices.ContainsFunc(endpoints, func(e string) bool { return e != "" })
}
