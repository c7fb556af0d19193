package codedeploy

import (
	"context"
	"unicode/utf8"

	awscd "github.com/aws/aws-sdk-go-v2/service/codedeploy"
	cdtypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"

	"github.com/sluice-ecs/sluice/awssim/codedeployer"
	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// deploymentDoc holds the data of a deployment that no controller reads.
type deploymentDoc struct {
	Config, Description *string
	Rollback            *cdtypes.AutoRollbackConfiguration
	Alarms              *cdtypes.AlarmConfiguration // instead of the group's
	Group               *cdtypes.DeploymentGroupInfo
	StopFailures        bool // ignoreApplicationStopFailures
}

// CreateDeployment starts a deployment. The call has no idempotency token: two calls create two
// deployments, if the first has ended.
func (s *Service) CreateDeployment(ctx context.Context, in *awscd.CreateDeploymentInput) (*awscd.CreateDeploymentOutput,
	error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awscd.CreateDeploymentOutput, error) {
		g, err := findGroup(tx, in.ApplicationName, in.DeploymentGroupName)
		if err != nil {
			return nil, err
		}
		if err := checkCreate(in); err != nil {
			return nil, err
		}
		name, content, spec, err := readRevision(in.Revision)
		if err != nil {
			return nil, err
		}
		d, err := newDeployment(tx, g, wire.Clone(in))
		if err != nil {
			return nil, err
		}
		if active := g.ActiveDeployment(); active != nil {
			return nil, world.Refuse("DeploymentLimitExceededException",
				"The Deployment Group '%s' already has an active Deployment '%s'", g.Name, active.ID)
		}
		d.Revision, d.Spec = name, spec
		addRevision(tx, g, name, content)
		s.controller.StartDeployment(tx, g, d)
		return &awscd.CreateDeploymentOutput{DeploymentId: ptr(d.ID)}, nil
	})
}

func checkCreate(in *awscd.CreateDeploymentInput) error {
	switch {
	case utf8.RuneCountInString(val(in.Description)) > maxDescriptionLength:
		return world.Refuse("DescriptionTooLongException", "The description has more than %d characters",
			maxDescriptionLength)
	case in.TargetInstances != nil || in.UpdateOutdatedInstancesOnly:
		return invalidInput("Target instances are not for the ECS compute platform")
	}
	return nil
}

// newDeployment returns a deployment with its group's settings, overridden by the request.
func newDeployment(tx *world.Tx, g *codedeployer.Group, in *awscd.CreateDeploymentInput) (*codedeployer.Deployment,
	error) {
	d := &codedeployer.Deployment{Settings: g.Settings}
	doc := &deploymentDoc{Config: in.DeploymentConfigName, Description: in.Description,
		Rollback: in.AutoRollbackConfiguration,
		Alarms:   in.OverrideAlarmConfiguration, Group: wire.Clone(docOf(g)),
		StopFailures: in.IgnoreApplicationStopFailures}
	d.Doc = doc
	if doc.Config == nil {
		doc.Config = doc.Group.DeploymentConfigName
	}
	c, err := findConfig(tx, doc.Config)
	if err != nil {
		return nil, err
	}
	d.Settings.Routing = routingOf(c)
	if doc.Rollback == nil {
		doc.Rollback = doc.Group.AutoRollbackConfiguration
	}
	if d.Settings.RollbackOn, err = rollbackOn(doc.Rollback); err != nil {
		return nil, err
	}
	if doc.Alarms != nil {
		if d.Settings.Alarms, err = alarmsOf(doc.Alarms); err != nil {
			return nil, err
		}
	}
	if g.Successful != nil {
		d.Previous = g.Successful.Revision
	}
	return d, nil
}
