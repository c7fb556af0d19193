package codedeploy

import (
	"slices"
	"time"

	cdtypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"

	"github.com/sluice-ecs/sluice/awssim/codedeployer"
	"github.com/sluice-ecs/sluice/awssim/world"
)

const (
	maxWaitMinutes = 2880 // minutes, API Reference, BlueInstanceTerminationOption
	maxAlarms      = 10
)

// settingsOf checks a group's description, fills in its defaults, and returns the controller's
// settings.
func settingsOf(tx *world.Tx, g *codedeployer.Group, doc *cdtypes.DeploymentGroupInfo) (s codedeployer.Settings,
	err error) {
	for _, step := range []func() error{
		func() error { return checkStyle(doc.DeploymentStyle) },
		func() error { return readService(tx, g, doc, &s) },
		func() error { return readPair(tx, doc.LoadBalancerInfo, &s) },
		func() error { return readBlueGreen(doc, &s) },
		func() error { s.RollbackOn, err = rollbackOn(doc.AutoRollbackConfiguration); return err },
		func() error { s.Alarms, err = alarmsOf(doc.AlarmConfiguration); return err },
	} {
		if err := step(); err != nil {
			return s, err
		}
	}
	if doc.DeploymentConfigName == nil {
		doc.DeploymentConfigName = ptr(allAtOnce)
	}
	c, err := findConfig(tx, doc.DeploymentConfigName)
	if err != nil {
		return s, err
	}
	s.Routing = routingOf(c)
	return s, nil
}

func checkStyle(st *cdtypes.DeploymentStyle) error {
	if st == nil || st.DeploymentType != cdtypes.DeploymentTypeBlueGreen ||
		st.DeploymentOption != cdtypes.DeploymentOptionWithTrafficControl {
		return world.Refuse("InvalidDeploymentStyleException",
			"Deployment groups of the ECS compute platform must have the deployment type BLUE_GREEN and the option "+
				"WITH_TRAFFIC_CONTROL")
	}
	return nil
}

// readService finds the one service of a group. The service must not be in another group.
func readService(tx *world.Tx, g *codedeployer.Group, doc *cdtypes.DeploymentGroupInfo,
	s *codedeployer.Settings) error {
	if len(doc.EcsServices) != 1 || val(doc.EcsServices[0].ServiceName) == "" ||
		val(doc.EcsServices[0].ClusterName) == "" {
		return world.Refuse("InvalidECSServiceException",
			"Exactly one ECS service, with its cluster, must be specified")
	}
	x := doc.EcsServices[0]
	s.Cluster, s.Service = *x.ClusterName, *x.ServiceName
	svc, ok := tx.Services.Get(s.Cluster + "/" + s.Service)
	switch {
	case !ok || svc.Status != "ACTIVE":
		return world.Refuse("InvalidECSServiceException",
			"The ECS service %s in cluster %s does not exist or is not ACTIVE", s.Service, s.Cluster)
	case svc.Controller != "CODE_DEPLOY":
		return world.Refuse("InvalidECSServiceException",
			"Deployment group's ECSService must be configured for a CODE_DEPLOY deployment controller.")
	}
	for _, a := range codedeployer.StateOf(tx).Applications.All() {
		for _, other := range a.Groups.All() {
			if other != g && other.Settings.Cluster == s.Cluster && other.Settings.Service == s.Service {
				return world.Refuse("ECSServiceMappingLimitExceededException",
					"The ECS service %s is already in the deployment group %s", s.Service, other.Name)
			}
		}
	}
	return nil
}

func readPair(tx *world.Tx, info *cdtypes.LoadBalancerInfo, s *codedeployer.Settings) error {
	if info == nil || len(info.TargetGroupPairInfoList) != 1 ||
		len(info.ElbInfoList)+len(info.TargetGroupInfoList) > 0 {
		return world.Refuse("InvalidLoadBalancerInfoException", "Exactly one target group pair must be specified")
	}
	p := info.TargetGroupPairInfoList[0]
	switch {
	case len(p.TargetGroups) != 2:
		return world.Refuse("InvalidTargetGroupPairException",
			"A target group pair must have exactly two target groups")
	case p.ProdTrafficRoute == nil || len(p.ProdTrafficRoute.ListenerArns) != 1:
		return world.Refuse("InvalidTargetGroupPairException",
			"The production traffic route must have exactly one listener")
	case p.TestTrafficRoute != nil && len(p.TestTrafficRoute.ListenerArns) > 1:
		return world.Refuse("InvalidTargetGroupPairException", "The test traffic route must have exactly one listener")
	}
	s.Pair = [2]string{val(p.TargetGroups[0].Name), val(p.TargetGroups[1].Name)}
	if s.Pair[0] == s.Pair[1] || s.Pair[0] == "" || s.Pair[1] == "" {
		return world.Refuse("InvalidTargetGroupPairException",
			"The two target groups of a pair must be named and differ")
	}
	s.Production = p.ProdTrafficRoute.ListenerArns[0]
	if p.TestTrafficRoute != nil && len(p.TestTrafficRoute.ListenerArns) == 1 {
		s.Test = p.TestTrafficRoute.ListenerArns[0]
	}
	return checkListeners(tx, s)
}

func checkListeners(tx *world.Tx, s *codedeployer.Settings) error {
	for _, arn := range []string{s.Production, s.Test} {
		if _, ok := tx.Listeners.Get(arn); arn != "" && !ok {
			return world.Refuse("InvalidTargetGroupPairException", "The listener %s does not exist", arn)
		}
	}
	if s.Production == s.Test {
		return world.Refuse("InvalidTargetGroupPairException",
			"Production and test traffic must have different listeners")
	}
	return nil
}

// readBlueGreen fills in the defaults of AWS's console: continue at once, delete the original task
// set at once.
func readBlueGreen(doc *cdtypes.DeploymentGroupInfo, s *codedeployer.Settings) error {
	b := doc.BlueGreenDeploymentConfiguration
	if b == nil {
		b = &cdtypes.BlueGreenDeploymentConfiguration{}
		doc.BlueGreenDeploymentConfiguration = b
	}
	if b.DeploymentReadyOption == nil {
		b.DeploymentReadyOption = &cdtypes.DeploymentReadyOption{ActionOnTimeout: cdtypes.DeploymentReadyActionContinueDeployment}
	}
	if b.TerminateBlueInstancesOnDeploymentSuccess == nil {
		b.TerminateBlueInstancesOnDeploymentSuccess = &cdtypes.BlueInstanceTerminationOption{Action: cdtypes.InstanceActionTerminate}
	}
	ready, end := b.DeploymentReadyOption, b.TerminateBlueInstancesOnDeploymentSuccess
	refuse := func(text string) error {
		return world.Refuse("InvalidBlueGreenDeploymentConfigurationException", "%s", text)
	}
	switch {
	case b.GreenFleetProvisioningOption != nil:
		return refuse("greenFleetProvisioningOption is not for the ECS compute platform")
	case ready.WaitTimeInMinutes < 0 || ready.WaitTimeInMinutes > maxWaitMinutes ||
		end.TerminationWaitTimeInMinutes < 0 || end.TerminationWaitTimeInMinutes > maxWaitMinutes:
		return refuse("Wait times must be from 0 to 2880 minutes")
	case !slices.Contains(ready.ActionOnTimeout.Values(), ready.ActionOnTimeout) || end.Action != "" &&
		!slices.Contains(end.Action.Values(), end.Action):
		return refuse("actionOnTimeout must be CONTINUE_DEPLOYMENT or STOP_DEPLOYMENT, action TERMINATE or KEEP_ALIVE")
	case ready.ActionOnTimeout == cdtypes.DeploymentReadyActionStopDeployment && ready.WaitTimeInMinutes == 0:
		return refuse("STOP_DEPLOYMENT needs a wait time")
	case ready.ActionOnTimeout == cdtypes.DeploymentReadyActionStopDeployment:
		s.Ready = ptr(time.Duration(ready.WaitTimeInMinutes) * time.Minute)
	}
	s.KeepBlue = end.Action == cdtypes.InstanceActionKeepAlive
	s.BlueWait = time.Duration(end.TerminationWaitTimeInMinutes) * time.Minute
	return nil
}

func rollbackOn(c *cdtypes.AutoRollbackConfiguration) (events []string, err error) {
	if c == nil {
		return nil, nil
	}
	for _, e := range c.Events {
		if !slices.Contains(e.Values(), e) {
			return nil, world.Refuse("InvalidAutoRollbackConfigException", "Unknown auto rollback event %q", e)
		}
		events = append(events, string(e))
	}
	if !c.Enabled {
		return nil, nil
	}
	if len(events) == 0 {
		return nil, world.Refuse("InvalidAutoRollbackConfigException",
			"An enabled auto rollback configuration needs events")
	}
	return events, nil
}

func alarmsOf(c *cdtypes.AlarmConfiguration) (a codedeployer.Alarms, err error) {
	if c == nil {
		return a, nil
	}
	if len(c.Alarms) > maxAlarms {
		return a, world.Refuse("AlarmsLimitExceededException", "A deployment group can have at most %d alarms",
			maxAlarms)
	}
	for _, x := range c.Alarms {
		if val(x.Name) == "" || slices.Contains(a.Names, *x.Name) {
			return a, world.Refuse("InvalidAlarmConfigException", "Alarm names must be given, each once")
		}
		a.Names = append(a.Names, *x.Name)
	}
	if !c.Enabled {
		return codedeployer.Alarms{}, nil
	}
	if len(a.Names) == 0 {
		return a, world.Refuse("InvalidAlarmConfigException", "An enabled alarm configuration needs alarms")
	}
	a.IgnoreUnknown = c.IgnorePollAlarmFailure
	return a, nil
}
