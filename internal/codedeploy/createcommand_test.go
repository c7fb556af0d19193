package codedeploy

import (
	"errors"
	"testing"

	cdtypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"

	"github.com/sluice-ecs/sluice"
)

// What is not known of a group that was deleted has a word of its own in the command, which the next step lists.
func TestAdviceOfADeletedGroupInventsNothing(t *testing.T) {
	group := GroupSettings{Group: Group{"shop", "web"}, Cluster: "prod", Service: "web"}
	const want = "create the deployment group of CodeDeploy again, with its values for ROLE, ACTION, MINUTES, LISTENER, GROUP: " +
		"aws deploy create-deployment-group --application-name shop --deployment-group-name web --service-role-arn ROLE " +
		"--ecs-services serviceName=web,clusterName=prod --deployment-style " +
		"deploymentType=BLUE_GREEN,deploymentOption=WITH_TRAFFIC_CONTROL --load-balancer-info " +
		"'targetGroupPairInfoList=[{targetGroups=[{name=GROUP},{name=GROUP}],prodTrafficRoute={listenerArns=[LISTENER]}}]' " +
		"--blue-green-deployment-configuration 'terminateBlueInstancesOnDeploymentSuccess={action=ACTION}," +
		"deploymentReadyOption={actionOnTimeout=STOP_DEPLOYMENT,waitTimeInMinutes=MINUTES}'"
	deleted := &cdtypes.DeploymentGroupDoesNotExistException{}
	if err := AdviseCreation(deleted, group, true); sluice.NextStep(err) != want || err.Error() != deleted.Error() {
		t.Errorf("%v; next: %s; want %s", err, sluice.NextStep(err), want)
	}
	group.TestListener, group.RollbackEvents = "arn:test", []string{"DEPLOYMENT_FAILURE"}
	if text, _ := group.createCommand(false); text != "aws deploy create-deployment-group --application-name shop "+
		"--deployment-group-name web --service-role-arn ROLE --ecs-services serviceName=web,clusterName=prod "+
		"--deployment-style deploymentType=BLUE_GREEN,deploymentOption=WITH_TRAFFIC_CONTROL --load-balancer-info "+
		"'targetGroupPairInfoList=[{targetGroups=[{name=GROUP},{name=GROUP}],prodTrafficRoute={listenerArns=[LISTENER]},"+
		"testTrafficRoute={listenerArns=[arn:test]}}]' --blue-green-deployment-configuration "+
		"'terminateBlueInstancesOnDeploymentSuccess={action=ACTION},deploymentReadyOption={actionOnTimeout="+
		"CONTINUE_DEPLOYMENT}' --auto-rollback-configuration enabled=true,events=DEPLOYMENT_FAILURE" {
		t.Error(text)
	}
	if other := errors.New("no response"); AdviseCreation(other, group, false) != other {
		t.Error("another error has the advice")
	}
}
