package awssim

import (
	"cmp"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscd "github.com/aws/aws-sdk-go-v2/service/codedeploy"
	cdtypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// addFunctions adds the Lambda functions of the file. Lambda returns them, and CodeDeploy calls them.
func (l *worldBuilder) addFunctions() error {
	return l.world.Do(world.KeyOf(l.ctx), func(tx *world.Tx) error {
		for _, f := range l.file.Functions {
			tx.Functions.Put(f.Name, &world.Function{Name: f.Name, Result: cmp.Or(f.Result, world.FunctionSucceeds),
				After: f.After})
		}
		return nil
	})
}

func (l *worldBuilder) createApplications() error {
	for i, c := range l.file.Configs {
		in := &awscd.CreateDeploymentConfigInput{DeploymentConfigName: aws.String(c.Name),
			ComputePlatform: cdtypes.ComputePlatformEcs, TrafficRoutingConfig: c.routingConfig()}
		if _, err := send(l.ctx, l, l.codeDeploy.CreateDeploymentConfig, in); err != nil {
			return withPath(fmt.Sprintf("deploymentConfigs[%d]", i), err)
		}
	}
	for i, a := range l.file.Applications {
		at := fmt.Sprintf("applications[%d]", i)
		_, err := send(l.ctx, l, l.codeDeploy.CreateApplication, &awscd.CreateApplicationInput{
			ApplicationName: aws.String(a.Name), ComputePlatform: cdtypes.ComputePlatformEcs})
		if err != nil {
			return withPath(at, err)
		}
		for j, g := range a.Groups {
			if _, err := send(l.ctx, l, l.codeDeploy.CreateDeploymentGroup, l.deploymentGroupInput(a.Name, g)); err != nil {
				return withPath(fmt.Sprintf("%s.groups[%d]", at, j), err)
			}
		}
	}
	return nil
}

func (c configFile) routingConfig() *cdtypes.TrafficRoutingConfig {
	every := int32(c.Every / time.Minute)
	switch {
	case c.Canary > 0:
		return &cdtypes.TrafficRoutingConfig{Type: cdtypes.TrafficRoutingTypeTimeBasedCanary,
			TimeBasedCanary: &cdtypes.TimeBasedCanary{CanaryPercentage: c.Canary, CanaryInterval: every}}
	case c.Linear > 0:
		return &cdtypes.TrafficRoutingConfig{Type: cdtypes.TrafficRoutingTypeTimeBasedLinear,
			TimeBasedLinear: &cdtypes.TimeBasedLinear{LinearPercentage: c.Linear, LinearInterval: every}}
	}
	return nil
}

func (l *worldBuilder) deploymentGroupInput(application string,
	g deploymentGroupFile) *awscd.CreateDeploymentGroupInput {
	pair := cdtypes.TargetGroupPairInfo{ProdTrafficRoute: &cdtypes.TrafficRoute{ListenerArns: []string{l.listenerARNs[g.Listener]}}}
	for _, name := range g.TargetGroups {
		pair.TargetGroups = append(pair.TargetGroups, cdtypes.TargetGroupInfo{Name: aws.String(name)})
	}
	if g.TestListener != "" {
		pair.TestTrafficRoute = &cdtypes.TrafficRoute{ListenerArns: []string{l.listenerARNs[g.TestListener]}}
	}
	in := &awscd.CreateDeploymentGroupInput{
		ApplicationName: aws.String(application), DeploymentGroupName: aws.String(g.Name),
		DeploymentConfigName: optionalText(g.Config),
		ServiceRoleArn:       aws.String(world.KeyOf(l.ctx).GlobalARN("iam", "role/CodeDeployRole")),
		EcsServices: []cdtypes.ECSService{{ClusterName: aws.String(cmp.Or(g.Cluster,
			l.file.Clusters[0])), ServiceName: aws.String(g.Service)}},
		LoadBalancerInfo: &cdtypes.LoadBalancerInfo{TargetGroupPairInfoList: []cdtypes.TargetGroupPairInfo{pair}},
		DeploymentStyle: &cdtypes.DeploymentStyle{DeploymentType: cdtypes.DeploymentTypeBlueGreen,
			DeploymentOption: cdtypes.DeploymentOptionWithTrafficControl},
		BlueGreenDeploymentConfiguration: g.blueGreenConfig(),
	}
	if len(g.Rollback) > 0 {
		in.AutoRollbackConfiguration = &cdtypes.AutoRollbackConfiguration{Enabled: true}
		for _, e := range g.Rollback {
			in.AutoRollbackConfiguration.Events = append(in.AutoRollbackConfiguration.Events,
				cdtypes.AutoRollbackEvent(e))
		}
	}
	if len(g.Alarms) > 0 {
		in.AlarmConfiguration = &cdtypes.AlarmConfiguration{Enabled: true}
		for _, name := range g.Alarms {
			in.AlarmConfiguration.Alarms = append(in.AlarmConfiguration.Alarms, cdtypes.Alarm{Name: aws.String(name)})
		}
	}
	return in
}

func (g deploymentGroupFile) blueGreenConfig() *cdtypes.BlueGreenDeploymentConfiguration {
	b := &cdtypes.BlueGreenDeploymentConfiguration{
		DeploymentReadyOption: &cdtypes.DeploymentReadyOption{ActionOnTimeout: cdtypes.DeploymentReadyActionContinueDeployment},
		TerminateBlueInstancesOnDeploymentSuccess: &cdtypes.BlueInstanceTerminationOption{
			Action: cdtypes.InstanceActionTerminate, TerminationWaitTimeInMinutes: int32(g.Terminate / time.Minute)},
	}
	if g.Ready != nil {
		b.DeploymentReadyOption = &cdtypes.DeploymentReadyOption{
			ActionOnTimeout:   cdtypes.DeploymentReadyActionStopDeployment,
			WaitTimeInMinutes: int32(*g.Ready / time.Minute)}
	}
	if g.KeepAlive {
		b.TerminateBlueInstancesOnDeploymentSuccess = &cdtypes.BlueInstanceTerminationOption{Action: cdtypes.InstanceActionKeepAlive}
	}
	return b
}
