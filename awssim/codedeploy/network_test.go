package codedeploy_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscd "github.com/aws/aws-sdk-go-v2/service/codedeploy"
	cdtypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// network makes service flow behind a Network Load Balancer, with its deployment
// group.
func (b *bench) network() {
	b.Helper()
	elb := awselb.NewFromConfig(b.sim.Config())
	view := b.service()
	have, err := elb.DescribeTargetGroups(b.ctx, &awselb.DescribeTargetGroupsInput{Names: []string{"web-a"}})
	b.ok(err)
	subnets := view.NetworkConfiguration.AwsvpcConfiguration.Subnets
	lb, err := elb.CreateLoadBalancer(b.ctx, &awselb.CreateLoadBalancerInput{Name: aws.String("flow"),
		Type: elbtypes.LoadBalancerTypeEnumNetwork, Subnets: subnets})
	b.ok(err)
	var groups []string
	for _, name := range []string{"flow-a", "flow-b"} {
		g, err := elb.CreateTargetGroup(b.ctx, &awselb.CreateTargetGroupInput{Name: &name, Protocol: "TCP",
			Port: aws.Int32(80), TargetType: "ip", VpcId: have.TargetGroups[0].VpcId})
		b.ok(err)
		groups = append(groups, *g.TargetGroups[0].TargetGroupArn)
	}
	l, err := elb.CreateListener(b.ctx,
		&awselb.CreateListenerInput{LoadBalancerArn: lb.LoadBalancers[0].LoadBalancerArn, Port: aws.Int32(80),
			Protocol:       "TCP",
			DefaultActions: []elbtypes.Action{{Type: "forward", TargetGroupArn: &groups[0]}}})
	b.ok(err)
	_, err = b.ecs.CreateService(b.ctx, &awsecs.CreateServiceInput{Cluster: aws.String("prod"),
		ServiceName: aws.String("flow"), DesiredCount: aws.Int32(1),
		TaskDefinition: aws.String("web"), LaunchType: "FARGATE", NetworkConfiguration: view.NetworkConfiguration,
		DeploymentController: &ecstypes.DeploymentController{Type: ecstypes.DeploymentControllerTypeCodeDeploy},
		LoadBalancers: []ecstypes.LoadBalancer{{TargetGroupArn: &groups[0], ContainerName: aws.String("web"),
			ContainerPort: aws.Int32(80)}}})
	b.ok(err)
	_, err = b.CreateDeploymentGroup(b.ctx, &awscd.CreateDeploymentGroupInput{ApplicationName: aws.String("shop"),
		DeploymentGroupName: aws.String("flow"),
		ServiceRoleArn:      aws.String("arn:aws:iam::123456789012:role/deploy"),
		EcsServices:         []cdtypes.ECSService{{ClusterName: aws.String("prod"), ServiceName: aws.String("flow")}},
		DeploymentStyle: &cdtypes.DeploymentStyle{DeploymentType: "BLUE_GREEN",
			DeploymentOption: "WITH_TRAFFIC_CONTROL"},
		LoadBalancerInfo: &cdtypes.LoadBalancerInfo{TargetGroupPairInfoList: []cdtypes.TargetGroupPairInfo{{
			TargetGroups:     []cdtypes.TargetGroupInfo{{Name: aws.String("flow-a")}, {Name: aws.String("flow-b")}},
			ProdTrafficRoute: &cdtypes.TrafficRoute{ListenerArns: []string{*l.Listeners[0].ListenerArn}}}}},
	})
	b.ok(err)
}

func TestANetworkLoadBalancerIsSwitchedAtOnce(t *testing.T) {
	b := newBench(t, 1, "", "")
	b.network()
	deploy := func(config string) *cdtypes.DeploymentInfo {
		in := input(appspec(b.register("sim/web:v2")))
		in.DeploymentGroupName, in.DeploymentConfigName = aws.String("flow"), &config
		out, err := b.CreateDeployment(b.ctx, in)
		b.ok(err)
		return b.ends(*out.DeploymentId)
	}
	if d := deploy("half"); d.Status != cdtypes.DeploymentStatusFailed ||
		d.ErrorInformation.Code != cdtypes.ErrorCodeElasticLoadBalancingInvalid || d.RollbackInfo != nil {
		t.Errorf("%+v", d.ErrorInformation)
	}
	if d := deploy("CodeDeployDefault.ECSAllAtOnce"); d.Status != cdtypes.DeploymentStatusSucceeded {
		t.Errorf("%+v", d.ErrorInformation)
	}
	for _, lb := range b.sim.View().Regions[0].LoadBalancers {
		if w := lb.Listeners[0].Rules[0].Weights; lb.Name == "flow" &&
			(len(w) != 2 || w[0].Weight != 0 || w[1].Weight != 100) {
			t.Errorf("%+v", w)
		}
	}
}
