package codedeploy

import (
	"errors"
	"fmt"
	"strings"
	"time"

	cdtypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"

	"github.com/sluice-ecs/sluice"
)

// AdviseCreation adds the commands that create a deployment group again to the error of a call that CodeDeploy refused
// because the group, or its application, was deleted. s are the settings that are known: no call returns those of a
// group that was deleted. waits is true if the group waited for a user before the shift.
func AdviseCreation(err error, s GroupSettings, waits bool) error {
	var application *cdtypes.ApplicationDoesNotExistException
	var group *cdtypes.DeploymentGroupDoesNotExistException
	command, unknown := s.createCommand(waits)
	next := "create the deployment group of CodeDeploy again, with its values for " + strings.Join(unknown, ", ") + ": "
	switch {
	case errors.As(err, &application): // with the application its groups are deleted
		next = "create CodeDeploy's application again, then its deployment group, with its values for " +
			strings.Join(unknown, ", ") + ": "
		command = "aws deploy create-application --application-name " + s.Application + " --compute-platform ECS && " + command
	case !errors.As(err, &group):
		return err
	}
	return &sluice.Error{Kind: sluice.KindOf(err), Err: err, Next: next + command}
}

// createCommand returns the command that creates the group with the settings that are known, and the words in it that
// stand for the others.
func (s GroupSettings) createCommand(waits bool) (command string, unknown []string) {
	unknown = []string{"ROLE"}
	after, ready := "action=ACTION", "actionOnTimeout=CONTINUE_DEPLOYMENT"
	if s.Terminate > 0 {
		after = fmt.Sprintf("action=TERMINATE,terminationWaitTimeInMinutes=%d", s.Terminate/time.Minute)
	} else {
		unknown = append(unknown, "ACTION")
	}
	if waits {
		ready = "actionOnTimeout=STOP_DEPLOYMENT,waitTimeInMinutes=MINUTES"
		unknown = append(unknown, "MINUTES")
	}
	var groups []string
	for _, name := range s.TargetGroups {
		groups = append(groups, "{name="+name+"}")
	}
	for len(groups) < 2 {
		groups = append(groups, "{name=GROUP}")
	}
	routes := "prodTrafficRoute={listenerArns=[" + s.Listener + "]}"
	if s.Listener == "" {
		routes = "prodTrafficRoute={listenerArns=[LISTENER]}"
		unknown = append(unknown, "LISTENER")
	}
	if s.TestListener != "" {
		routes += ",testTrafficRoute={listenerArns=[" + s.TestListener + "]}"
	}
	if len(s.TargetGroups) < 2 {
		unknown = append(unknown, "GROUP")
	}
	command = fmt.Sprintf("aws deploy create-deployment-group --application-name %s --deployment-group-name %s "+
		"--service-role-arn ROLE --ecs-services serviceName=%s,clusterName=%s --deployment-style "+
		"deploymentType=BLUE_GREEN,deploymentOption=WITH_TRAFFIC_CONTROL --load-balancer-info "+
		"'targetGroupPairInfoList=[{targetGroups=[%s],%s}]' --blue-green-deployment-configuration "+
		"'terminateBlueInstancesOnDeploymentSuccess={%s},deploymentReadyOption={%s}'", s.Application, s.Name, s.Service,
		s.Cluster, strings.Join(groups, ","), routes, after, ready)
	if s.Config != "" {
		command += " --deployment-config-name " + s.Config
	}
	if len(s.RollbackEvents) > 0 {
		command += " --auto-rollback-configuration enabled=true,events=" + strings.Join(s.RollbackEvents, ",")
	}
	return command, unknown
}
