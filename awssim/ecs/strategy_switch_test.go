package ecs_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
)

func strategyIs(s ecstypes.DeploymentStrategy) *ecstypes.DeploymentConfiguration {
	return &ecstypes.DeploymentConfiguration{Strategy: s}
}

// A service that ECS has moved to its other target group goes back to rolling deployments, which stay in
// that group, and to BLUE_GREEN again. No request is lost.
func TestBackToRollingAndToBlueGreenAgain(t *testing.T) {
	c := newCrossing(t, 3)
	c.start(blueGreen(1))
	calls := c.call()
	c.ends(c.deploy(good), "SUCCESSFUL")
	arn := c.update(&awsecs.UpdateServiceInput{DeploymentConfiguration: strategyIs("ROLLING"),
		TaskDefinition: c.register(third)})
	if d := c.ends(arn, "SUCCESSFUL"); d.LifecycleStage != "" || c.groupOf(d) != c.other {
		t.Errorf("stage %q, live is %s", d.LifecycleStage, c.groupOf(d))
	}
	if s := c.service(); s.DeploymentConfiguration.Strategy != "ROLLING" || *s.DeploymentConfiguration.BakeTimeInMinutes != 0 || c.weights(c.production) != "0/100" ||
		*s.LoadBalancers[0].TargetGroupArn != c.other {
		t.Errorf("%+v, %s", s.LoadBalancers, c.weights(c.production))
	}
	conf := blueGreen(0)
	arn = c.update(&awsecs.UpdateServiceInput{DeploymentConfiguration: &conf, TaskDefinition: c.register(good)})
	if d := c.ends(arn, "SUCCESSFUL"); c.groupOf(d) != c.group || c.weights(c.production) != "100/0" {
		t.Errorf("live is %s, %s", c.groupOf(d), c.weights(c.production))
	}
	c.lostNone(calls, "v1", "v2", "v3")
}

// groupOf returns the target group of the revision of a deployment.
func (c *crossing) groupOf(d ecstypes.ServiceDeployment) string {
	c.Helper()
	out := must(c.api.DescribeServiceRevisions(c.ctx,
		&awsecs.DescribeServiceRevisionsInput{ServiceRevisionArns: []string{*d.TargetServiceRevision.Arn}}))(c.T)
	return *out.ServiceRevisions[0].ResolvedConfiguration.LoadBalancers[0].TargetGroupArn
}

// The strategy alone starts no deployment. A rolling deployment that names the group without weight
// registers its tasks there, and ECS changes no rule: callers lose their requests.
func TestRollingInTheGroupWithoutWeightLosesRequests(t *testing.T) {
	c := newCrossing(t, 4)
	c.start(blueGreen(0))
	last := c.deploy(good)
	c.ends(last, "SUCCESSFUL")
	if arn := c.update(&awsecs.UpdateServiceInput{DeploymentConfiguration: strategyIs("ROLLING")}); arn != last {
		t.Errorf("the strategy starts the deployment %s", arn)
	}
	calls := c.call()
	c.ends(c.update(&awsecs.UpdateServiceInput{LoadBalancers: behind(c.group)}), "SUCCESSFUL")
	c.pass(time.Minute)
	if r := calls.Report(); r.Failed == 0 || c.weights(c.production) != "0/100" {
		t.Errorf("%v of %v requests failed, %s", r.Failed, r.Requests, c.weights(c.production))
	}
}

// While a deployment runs there is no way back to rolling. When it has been rolled back, there is.
func TestNoWayBackToRollingDuringADeployment(t *testing.T) {
	c := newCrossing(t, 5)
	rolling := c.input("sim/web:v1-latency-50ms-term-2s", strategyIs("ROLLING"))
	first := must(c.api.CreateService(c.ctx, rolling))(t) // with a pair that no rolling deployment uses
	c.ends(*first.Service.CurrentServiceDeployment, "SUCCESSFUL")
	calls, conf := c.call(), blueGreen(0)
	arn := c.update(&awsecs.UpdateServiceInput{DeploymentConfiguration: &conf,
		TaskDefinition: c.register("sim/web:v2-crash-after-2s")})
	c.reaches(arn, "SCALE_UP")
	back := &awsecs.UpdateServiceInput{Cluster: aws.String("web"), Service: aws.String("api"),
		DeploymentConfiguration: strategyIs("ROLLING")}
	const while = "Unable to update the deployment strategy from BLUE_GREEN to ROLLING while a deployment is in progress."
	refused(c.api.UpdateService(c.ctx, back))(t, invalidParameter, while)
	must(c.api.StopServiceDeployment(c.ctx, &awsecs.StopServiceDeploymentInput{ServiceDeploymentArn: &arn}))(t)
	refused(c.api.UpdateService(c.ctx, back))(t, invalidParameter, while)
	c.ends(arn, "ROLLBACK_SUCCESSFUL")
	c.update(back)
	c.ends(c.deploy(third), "SUCCESSFUL")
	c.lostNone(calls, "v1", "v3")
}
