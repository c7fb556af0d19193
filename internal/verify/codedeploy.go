package verify

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/codedeploy"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan/forecast"
)

// WantsCodeDeploy reports whether the files set controller CODE_DEPLOY.
func WantsCodeDeploy(app *appfile.Application) bool {
	if app.Service == nil {
		return false
	}
	d := app.Service.Input.DeploymentController
	return d != nil && d.Type == ecstypes.DeploymentControllerTypeCodeDeploy
}

// checkDeploymentConfig requires the deployment configuration of the files. CodeDeploy refuses a missing one after the
// task definition is registered.
func (c *checker) checkDeploymentConfig(ctx context.Context) {
	name := c.app.CodeDeploy.Config
	if !WantsCodeDeploy(c.app) || name == "" || c.isDeployment && c.serving == nil {
		return
	}
	c.at(name, "deploymentConfigName", "deployment_config_name")
	subject := "deployment configuration " + name
	if forecast.IsPredefined(name) {
		c.ok(subject, "")
		return
	}
	err := c.aws.CodeDeploy.FindConfig(ctx, name)
	var about *sluice.Error
	if isMissing(err) && errors.As(err, &about) {
		c.fail(subject, about.Err.Error(), about.Next)
		return
	}
	if c.judge(subject, err, "", "") {
		c.ok(subject, "")
	}
}

// checkDeploymentGroup requires a deployment group of the service, if CodeDeploy deploys it already.
func (c *checker) checkDeploymentGroup(ctx context.Context) {
	if !WantsCodeDeploy(c.app) {
		return
	}
	service := ecs.Service{API: c.aws.Existing.ECS, Cluster: c.app.ClusterRef(),
		Name: aws.ToString(c.app.Service.Input.ServiceName)}
	now, err := service.Observe(ctx)
	if err != nil || !now.IsActive() || now.Controller != string(ecstypes.DeploymentControllerTypeCodeDeploy) {
		return // other checks report it, or there is no group yet
	}
	g, err := FindDeploymentGroup(ctx, c.aws.CodeDeploy, c.app, codedeploy.Creators(now.TaskSets))
	c.place = placeOfGroup(c.app, err)
	subject := "deployment group of service " + service.Name
	switch sluice.KindOf(err) {
	case sluice.NotFound, sluice.Conflict:
		c.fail(subject, sluice.Inner(err).Error(), sluice.NextStep(err))
		return
	}
	if c.judge(subject, err, "", "") {
		c.ok(subject, g.Group.String())
	}
}

// FindDeploymentGroup returns the deployment group of the service. by are the deployments that created its task sets.
func FindDeploymentGroup(ctx context.Context, client codedeploy.Client, app *appfile.Application,
	by []string) (codedeploy.GroupSettings, error) {
	return client.FindGroup(ctx, groupOf(app), app.Cluster, aws.ToString(app.Service.Input.ServiceName), by)
}

func groupOf(app *appfile.Application) codedeploy.Group {
	return codedeploy.Group{Application: app.CodeDeploy.Application, Name: app.CodeDeploy.Group}
}

// LocateGroup adds to the error of a deployment group the line that names it, or its application.
func LocateGroup(app *appfile.Application, err error) error {
	return appfile.LocateAt(placeOfGroup(app, err), err)
}

// placeOfGroup returns the line that an error about the deployment group is at. It is empty if there is none.
func placeOfGroup(app *appfile.Application, err error) string {
	var about *sluice.Error
	want := groupOf(app)
	switch {
	case err == nil || !errors.As(err, &about) || sluice.KindOf(err) == sluice.Denied:
		return ""
	case want.Name == "" || about.Resource == want.Application:
		return app.PlaceOfText(want.Application, "applicationName", "application_name")
	}
	return app.PlaceOfText(want.Name, "deploymentGroupName", "deployment_group_name")
}
