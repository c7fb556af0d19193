package codedeploy

import (
	"context"
	"strings"

	awscd "github.com/aws/aws-sdk-go-v2/service/codedeploy"
	cdtypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"

	"github.com/sluice-ecs/sluice/awssim/codedeployer"
	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

func docOf(g *codedeployer.Group) *cdtypes.DeploymentGroupInfo {
	return g.Doc.(*cdtypes.DeploymentGroupInfo)
}

// CreateDeploymentGroup creates a group of one ECS service.
func (s *Service) CreateDeploymentGroup(ctx context.Context,
	in *awscd.CreateDeploymentGroupInput) (*awscd.CreateDeploymentGroupOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awscd.CreateDeploymentGroupOutput, error) {
		a, err := findApplication(tx, in.ApplicationName)
		if err != nil {
			return nil, err
		}
		if err := checkName(in.DeploymentGroupName, "DeploymentGroup"); err != nil {
			return nil, err
		}
		if _, ok := a.Groups.Get(*in.DeploymentGroupName); ok {
			return nil, world.Refuse("DeploymentGroupAlreadyExistsException", "Deployment group already exists: %s",
				*in.DeploymentGroupName)
		}
		if val(in.ServiceRoleArn) == "" {
			return nil, world.Refuse("RoleRequiredException", "The service role ARN is required")
		}
		if err := onlyECS(in.AutoScalingGroups, in.Ec2TagFilters, in.OnPremisesInstanceTagFilters,
			in.TriggerConfigurations); err != nil {
			return nil, err
		}
		doc := wire.Clone(&cdtypes.DeploymentGroupInfo{
			AlarmConfiguration: in.AlarmConfiguration, ApplicationName: in.ApplicationName,
			AutoRollbackConfiguration:        in.AutoRollbackConfiguration,
			BlueGreenDeploymentConfiguration: in.BlueGreenDeploymentConfiguration,
			ComputePlatform:                  cdtypes.ComputePlatformEcs,
			DeploymentConfigName:             in.DeploymentConfigName, DeploymentGroupName: in.DeploymentGroupName,
			DeploymentStyle: in.DeploymentStyle,
			EcsServices:     in.EcsServices, LoadBalancerInfo: in.LoadBalancerInfo, ServiceRoleArn: in.ServiceRoleArn,
		})
		g := &codedeployer.Group{Application: a, Name: *in.DeploymentGroupName, Doc: doc}
		if g.Settings, err = settingsOf(tx, g, doc); err != nil {
			return nil, err
		}
		if err := setTags(tx, arnOf(tx, a.Name, g.Name), in.Tags); err != nil {
			return nil, err
		}
		doc.DeploymentGroupId = ptr(tx.NewUUID("deployment group"))
		a.Groups.Put(g.Name, g)
		return &awscd.CreateDeploymentGroupOutput{DeploymentGroupId: ptr(*doc.DeploymentGroupId)}, nil
	})
}

func onlyECS(scaling []string, tags []cdtypes.EC2TagFilter, premises []cdtypes.TagFilter,
	triggers []cdtypes.TriggerConfig) error {
	switch {
	case len(scaling)+len(tags)+len(premises) > 0:
		return invalidInput("Auto Scaling groups and tag filters are not for the ECS compute platform")
	case len(triggers) > 0:
		return invalidInput("Triggers: not simulated.")
	}
	return nil
}

// UpdateDeploymentGroup changes the given settings. A deployment in progress keeps the settings
// with which it began.
func (s *Service) UpdateDeploymentGroup(ctx context.Context,
	in *awscd.UpdateDeploymentGroupInput) (*awscd.UpdateDeploymentGroupOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awscd.UpdateDeploymentGroupOutput, error) {
		g, err := findGroup(tx, in.ApplicationName, in.CurrentDeploymentGroupName)
		if err != nil {
			return nil, err
		}
		if in.NewDeploymentGroupName != nil && *in.NewDeploymentGroupName != g.Name {
			return nil, invalidInput("Renaming a deployment group: not simulated.")
		}
		if err := onlyECS(in.AutoScalingGroups, in.Ec2TagFilters, in.OnPremisesInstanceTagFilters,
			in.TriggerConfigurations); err != nil {
			return nil, err
		}
		doc := wire.Clone(docOf(g))
		applyUpdate(doc, wire.Clone(in))
		settings, err := settingsOf(tx, g, doc)
		if err != nil {
			return nil, err
		}
		g.Doc, g.Settings = doc, settings
		return &awscd.UpdateDeploymentGroupOutput{}, nil
	})
}

func applyUpdate(doc *cdtypes.DeploymentGroupInfo, in *awscd.UpdateDeploymentGroupInput) {
	doc.AlarmConfiguration = valueOr(in.AlarmConfiguration, doc.AlarmConfiguration)
	doc.AutoRollbackConfiguration = valueOr(in.AutoRollbackConfiguration, doc.AutoRollbackConfiguration)
	doc.BlueGreenDeploymentConfiguration = valueOr(in.BlueGreenDeploymentConfiguration,
		doc.BlueGreenDeploymentConfiguration)
	doc.DeploymentConfigName = valueOr(in.DeploymentConfigName, doc.DeploymentConfigName)
	doc.DeploymentStyle = valueOr(in.DeploymentStyle, doc.DeploymentStyle)
	doc.LoadBalancerInfo = valueOr(in.LoadBalancerInfo, doc.LoadBalancerInfo)
	doc.ServiceRoleArn = valueOr(in.ServiceRoleArn, doc.ServiceRoleArn)
	if in.EcsServices != nil {
		doc.EcsServices = in.EcsServices
	}
}

func valueOr[T any](v, old *T) *T {
	if v != nil {
		return v
	}
	return old
}

// DeleteDeploymentGroup deletes a group. A deployment of it in progress fails at its next step. A
// missing group is no error.
func (s *Service) DeleteDeploymentGroup(ctx context.Context,
	in *awscd.DeleteDeploymentGroupInput) (*awscd.DeleteDeploymentGroupOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awscd.DeleteDeploymentGroupOutput, error) {
		if err := checkName(in.ApplicationName, "Application"); err != nil {
			return nil, err
		}
		if err := checkName(in.DeploymentGroupName, "DeploymentGroup"); err != nil {
			return nil, err
		}
		if g, err := findGroup(tx, in.ApplicationName, in.DeploymentGroupName); err == nil {
			g.Deleted = true
			g.Application.Groups.Delete(g.Name)
			deleteTags(tx, arnOf(tx, g.Application.Name, g.Name))
		}
		return &awscd.DeleteDeploymentGroupOutput{}, nil
	})
}

func showGroup(g *codedeployer.Group) *cdtypes.DeploymentGroupInfo {
	d := wire.Clone(docOf(g))
	d.AutoScalingGroups, d.TriggerConfigurations = []cdtypes.AutoScalingGroup{}, []cdtypes.TriggerConfig{}
	d.Ec2TagFilters, d.OnPremisesInstanceTagFilters = []cdtypes.EC2TagFilter{}, []cdtypes.TagFilter{}
	d.LastAttemptedDeployment, d.LastSuccessfulDeployment = lastDeployment(g.Attempted), lastDeployment(g.Successful)
	if g.Successful != nil {
		d.TargetRevision = revisionLocation(g.Successful.Revision)
	}
	return d
}

func lastDeployment(d *codedeployer.Deployment) *cdtypes.LastDeploymentInfo {
	if d == nil {
		return nil
	}
	return &cdtypes.LastDeploymentInfo{CreateTime: optionalTime(d.CreatedAt), DeploymentId: ptr(d.ID),
		EndTime: optionalTime(d.Completed), Status: cdtypes.DeploymentStatus(d.Status)}
}

// GetDeploymentGroup returns one group.
func (s *Service) GetDeploymentGroup(ctx context.Context,
	in *awscd.GetDeploymentGroupInput) (*awscd.GetDeploymentGroupOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awscd.GetDeploymentGroupOutput, error) {
		g, err := findGroup(tx, in.ApplicationName, in.DeploymentGroupName)
		if err != nil {
			return nil, err
		}
		return &awscd.GetDeploymentGroupOutput{DeploymentGroupInfo: showGroup(g)}, nil
	})
}

// BatchGetDeploymentGroups returns up to 100 groups of an application. ErrorMessage lists those
// that do not exist.
func (s *Service) BatchGetDeploymentGroups(ctx context.Context,
	in *awscd.BatchGetDeploymentGroupsInput) (*awscd.BatchGetDeploymentGroupsOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awscd.BatchGetDeploymentGroupsOutput, error) {
		a, err := findApplication(tx, in.ApplicationName)
		if err != nil {
			return nil, err
		}
		if len(in.DeploymentGroupNames) == 0 {
			return nil, world.Refuse("DeploymentGroupNameRequiredException", "DeploymentGroup name is required")
		}
		if err := checkBatch(len(in.DeploymentGroupNames), maxBatch); err != nil {
			return nil, err
		}
		out := &awscd.BatchGetDeploymentGroupsOutput{DeploymentGroupsInfo: []cdtypes.DeploymentGroupInfo{}}
		var missing []string
		for _, name := range in.DeploymentGroupNames {
			if err := checkName(&name, "DeploymentGroup"); err != nil {
				return nil, err
			}
			if g, ok := a.Groups.Get(name); ok {
				out.DeploymentGroupsInfo = append(out.DeploymentGroupsInfo, *showGroup(g))
			} else {
				missing = append(missing, name)
			}
		}
		if len(missing) > 0 {
			out.ErrorMessage = ptr("No Deployment Group found for name: " + strings.Join(missing, ", "))
		}
		return out, nil
	})
}

// ListDeploymentGroups lists the names of an application's groups, 100 at a time.
func (s *Service) ListDeploymentGroups(ctx context.Context,
	in *awscd.ListDeploymentGroupsInput) (*awscd.ListDeploymentGroupsOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awscd.ListDeploymentGroupsOutput, error) {
		a, err := findApplication(tx, in.ApplicationName)
		if err != nil {
			return nil, err
		}
		names, next, err := pageOf(a.Groups.Keys(), in.NextToken)
		return &awscd.ListDeploymentGroupsOutput{ApplicationName: ptr(a.Name), DeploymentGroups: names,
			NextToken: next}, err
	})
}
