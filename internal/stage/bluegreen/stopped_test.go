package bluegreen_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscd "github.com/aws/aws-sdk-go-v2/service/codedeploy"
	cdtypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// A person stops CodeDeploy's deployment. With a rollback, sluice ends with CodeDeploy. Without one, CodeDeploy keeps
// the new task set, and sluice deploys the former version at once. It waits for nothing else: not until each read must
// show the task set that the deployment has created, and not for the time that the group keeps replaced tasks.
func TestADeploymentOfCodeDeployThatIsStoppedByOthersEndsSoon(t *testing.T) {
	for name, c := range map[string]struct {
		back   bool
		within time.Duration // from the stop until the end
		calls  int
	}{
		"with a rollback":    {true, 20 * time.Second, 30},
		"without a rollback": {false, 150 * time.Second, 55},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range tries(5) {
				onShifts(t, shiftOptions{seed: uint64(seed), group: "terminate: 1h"}, func(b *stagetest.Bench) {
					ctx, stopped, calls := context.Background(), time.Time{}, 0
					id := b.Start(codeDeployFiles(b, "sim/web:v2?latency=20ms", config("half")))
					b.Clock.Go(func() {
						b.Until("half", func() bool { return greenShare(b) >= 50 })
						stagetest.Must(b, b.Clock.Sleep(ctx, 10*time.Second))
						stagetest.Got(codeDeployClient(b).StopDeployment(ctx, &awscd.StopDeploymentInput{
							DeploymentId: newestShift(b).DeploymentId, AutoRollbackEnabled: aws.Bool(c.back)}))(b)
						stopped, calls = b.Clock.Now(), len(b.Calls)
					})
					end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
					took, calls := b.Clock.Now().Sub(stopped), len(b.Calls)-calls
					t.Logf("seed %d: %s, %d calls after the stop", seed, took, calls)
					if end.Outcome != sluice.RolledBack || took > c.within || calls > c.calls {
						b.Errorf("seed %d: %s %s after the stop, with %d calls; want at most %s and %d calls\n%s", seed,
							end.Outcome, took, calls, c.within, c.calls, b.EventLog())
					}
					stagetest.Must(b, b.Clock.Sleep(ctx, time.Minute))
					if now := activeSets(b, "web"); now != "PRIMARY sim/web:v1 3 running" {
						b.Errorf("seed %d: %s", seed, now)
					}
					b.ExpectNoneLost()
				})
			}
		})
	}
}

// A person deletes the deployment group, or its application, in mid-shift. Callers stay on both versions: the end says
// what to create again, and the rollback works after that.
func TestDeletedDeploymentGroupIsCreatedAgainAndRolledBack(t *testing.T) {
	for name, next := range map[string]string{"group": "create the deployment group of CodeDeploy again",
		"application": "create CodeDeploy's application again, then its deployment group"} {
		t.Run(name, func(t *testing.T) {
			onShifts(t, shiftOptions{group: "terminate: 1h"}, func(b *stagetest.Bench) {
				ctx, cd := context.Background(), codeDeployClient(b)
				id := b.Start(codeDeployFiles(b, "sim/web:v2?latency=20ms", config("half")))
				of := newestGroup(b)
				b.Clock.Go(func() {
					b.Until("half", func() bool { return greenShare(b) >= 50 })
					stagetest.Must(b, b.Clock.Sleep(ctx, 10*time.Second))
					if name == "group" {
						stagetest.Got(cd.DeleteDeploymentGroup(ctx, &awscd.DeleteDeploymentGroupInput{
							ApplicationName: of.ApplicationName, DeploymentGroupName: of.DeploymentGroupName}))(b)
						return
					}
					stagetest.Got(cd.DeleteApplication(ctx, &awscd.DeleteApplicationInput{ApplicationName: of.ApplicationName}))(b)
				})
				end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
				if end.Outcome != sluice.Failed || !strings.Contains(end.Next, next) ||
					!strings.Contains(end.Next, "sluice rollback") || !strings.Contains(end.Next, createsAgain(of)+"; restore") || strings.Contains(end.Next, "sluice verify") {
					b.Errorf("%s: %s\nnext: %s\n%s", end.Outcome, end.Cause, end.Next, b.EventLog())
				}
				if name == "application" {
					stagetest.Got(cd.CreateApplication(ctx, &awscd.CreateApplicationInput{ApplicationName: of.ApplicationName,
						ComputePlatform: cdtypes.ComputePlatformEcs}))(b)
				}
				stagetest.Got(cd.CreateDeploymentGroup(ctx, of))(b)
				stagetest.Must(b, b.Engine.Reopen(ctx, id)) // sluice rollback
				end = stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
				if got := b.CallersGet(); end.Outcome != sluice.RolledBack || got != "v1 200" {
					b.Errorf("%s: %s\nnext: %s; callers get %s\n%s", end.Outcome, end.Cause, end.Next, got, b.EventLog())
				}
			})
		})
	}
}

// createsAgain returns the command that creates the group again with the settings that the deployment knows. The files
// name another deployment configuration than that of the group.
func createsAgain(of *awscd.CreateDeploymentGroupInput) string {
	return "aws deploy create-deployment-group --application-name shop --deployment-group-name web --service-role-arn ROLE " +
		"--ecs-services serviceName=web,clusterName=prod --deployment-style " +
		"deploymentType=BLUE_GREEN,deploymentOption=WITH_TRAFFIC_CONTROL --load-balancer-info " +
		"'targetGroupPairInfoList=[{targetGroups=[{name=web-a},{name=web-b}],prodTrafficRoute={listenerArns=[" +
		of.LoadBalancerInfo.TargetGroupPairInfoList[0].ProdTrafficRoute.ListenerArns[0] + "]}}]' " +
		"--blue-green-deployment-configuration " +
		"'terminateBlueInstancesOnDeploymentSuccess={action=TERMINATE,terminationWaitTimeInMinutes=60}," +
		"deploymentReadyOption={actionOnTimeout=CONTINUE_DEPLOYMENT}'"
}

// newestGroup returns the input that creates the deployment group again.
func newestGroup(b *stagetest.Bench) *awscd.CreateDeploymentGroupInput {
	b.Helper()
	ctx, cd := context.Background(), codeDeployClient(b)
	application := stagetest.Got(cd.ListApplications(ctx, &awscd.ListApplicationsInput{}))(b).Applications[0]
	name := stagetest.Got(cd.ListDeploymentGroups(ctx, &awscd.ListDeploymentGroupsInput{ApplicationName: &application}))(b).
		DeploymentGroups[0]
	g := stagetest.Got(cd.GetDeploymentGroup(ctx, &awscd.GetDeploymentGroupInput{ApplicationName: &application,
		DeploymentGroupName: &name}))(b).DeploymentGroupInfo
	return &awscd.CreateDeploymentGroupInput{ApplicationName: &application, DeploymentGroupName: &name,
		ServiceRoleArn: g.ServiceRoleArn, EcsServices: g.EcsServices, LoadBalancerInfo: g.LoadBalancerInfo,
		DeploymentStyle: g.DeploymentStyle, BlueGreenDeploymentConfiguration: g.BlueGreenDeploymentConfiguration}
}
