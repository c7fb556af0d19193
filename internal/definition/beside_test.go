package definition

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
)

// The canary's service is what the file says, filled up by what the service is, and
// without what would bring it requests or act on it.
func TestCanaryServiceIsTheFileOverTheService(t *testing.T) {
	live := &ecstypes.Service{
		LaunchType: ecstypes.LaunchTypeFargate, PlatformVersion: aws.String("1.4.0"), EnableExecuteCommand: true,
		RoleArn:                       aws.String("arn:aws:iam::123456789012:role/x"),
		HealthCheckGracePeriodSeconds: aws.Int32(30), PropagateTags: ecstypes.PropagateTagsService,
		NetworkConfiguration: &ecstypes.NetworkConfiguration{AwsvpcConfiguration: &ecstypes.AwsVpcConfiguration{Subnets: []string{"subnet-live"}}},
		LoadBalancers: []ecstypes.LoadBalancer{{TargetGroupArn: aws.String("a")},
			{TargetGroupArn: aws.String("b")}},
		ServiceRegistries: []ecstypes.ServiceRegistry{{RegistryArn: aws.String("r")}},
		DeploymentConfiguration: &ecstypes.DeploymentConfiguration{MaximumPercent: aws.Int32(150),
			DeploymentCircuitBreaker: &ecstypes.DeploymentCircuitBreaker{Enable: true},
			Alarms:                   &ecstypes.DeploymentAlarms{Enable: true, AlarmNames: []string{"errors"}}},
		Deployments: []ecstypes.Deployment{{Status: aws.String("PRIMARY"),
			VolumeConfigurations:     []ecstypes.ServiceVolumeConfiguration{{Name: aws.String("data")}},
			VpcLatticeConfigurations: []ecstypes.VpcLatticeConfiguration{{}},
			ServiceConnectConfiguration: &ecstypes.ServiceConnectConfiguration{Enabled: true,
				Namespace: aws.String("shop"),
				Services:  []ecstypes.ServiceConnectService{{PortName: aws.String("http")}}}}},
	}
	file := &Service{Input: &awsecs.CreateServiceInput{ServiceName: aws.String("web"),
		HealthCheckGracePeriodSeconds: aws.Int32(60), DesiredCount: aws.Int32(9),
		CapacityProviderStrategy: []ecstypes.CapacityProviderStrategyItem{{CapacityProvider: aws.String(
			"FARGATE_SPOT")}}},
		Given: map[string]bool{"serviceName": true, "healthCheckGracePeriodSeconds": true,
			"capacityProviderStrategy": true, "desiredCount": true}}
	in, dropped := NewCanaryService(file, live)
	switch c := in.DeploymentConfiguration; {
	case *in.HealthCheckGracePeriodSeconds != 60, in.LaunchType != "",
		*in.CapacityProviderStrategy[0].CapacityProvider != "FARGATE_SPOT":
		t.Errorf("not as the file says: %+v", in)
	case in.NetworkConfiguration.AwsvpcConfiguration.Subnets[0] != "subnet-live", *in.PlatformVersion != "1.4.0",
		!in.EnableExecuteCommand, in.PropagateTags != "SERVICE", len(in.VolumeConfigurations) != 1:
		t.Errorf("not as the service is: %+v", in)
	case in.ServiceName != nil || in.DesiredCount != nil || in.LoadBalancers != nil || in.ServiceRegistries != nil ||
		in.VpcLatticeConfigurations != nil || in.DeploymentController != nil:
		t.Errorf("left in: %+v", in)
	case *c.MaximumPercent != 150, c.DeploymentCircuitBreaker != nil, c.Alarms != nil:
		t.Errorf("deployment configuration: %+v", c)
	case !in.ServiceConnectConfiguration.Enabled || len(in.ServiceConnectConfiguration.Services) > 0:
		t.Errorf("Service Connect: %+v", in.ServiceConnectConfiguration)
	}
	live.AvailabilityZoneRebalancing = ecstypes.AvailabilityZoneRebalancingEnabled
	if in, _ := NewCanaryService(file, live); in.AvailabilityZoneRebalancing != "ENABLED" {
		t.Errorf("rebalancing is %s", in.AvailabilityZoneRebalancing)
	}
	live.DeploymentConfiguration.MaximumPercent = aws.Int32(100)
	if in, _ := NewCanaryService(file, live); in.AvailabilityZoneRebalancing != "DISABLED" {
		t.Errorf("AWS refuses rebalancing %s with a maximumPercent of 100", in.AvailabilityZoneRebalancing)
	}
	if n := len(live.Deployments[0].ServiceConnectConfiguration.Services); n != 1 {
		t.Error("the live service was changed")
	}
	told := strings.Join(dropped, "\n")
	for _, want := range []string{"endpoints of Service Connect (http)", "1 target group of VPC Lattice",
		"1 further target group", "1 service registry", "alarms (errors)"} {
		if !strings.Contains(told, want) {
			t.Errorf("%q is not told:\n%s", want, told)
		}
	}
}
