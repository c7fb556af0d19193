package definition

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
)

// fullService is a running service that has another value than AWS's default for every member with one.
func fullService(controller ecstypes.DeploymentControllerType) *ecstypes.Service {
	return &ecstypes.Service{
		DeploymentController: &ecstypes.DeploymentController{Type: controller},
		DeploymentConfiguration: &ecstypes.DeploymentConfiguration{MinimumHealthyPercent: aws.Int32(50),
			Alarms: &ecstypes.DeploymentAlarms{Enable: true, AlarmNames: []string{"errors"}}},
		EnableECSManagedTags: true, EnableExecuteCommand: true, HealthCheckGracePeriodSeconds: aws.Int32(30),
		LoadBalancers:        []ecstypes.LoadBalancer{{ContainerName: aws.String("web")}},
		PlacementConstraints: []ecstypes.PlacementConstraint{{Type: "distinctInstance"}},
		PlacementStrategy:    []ecstypes.PlacementStrategy{{Type: "random"}},
		PlatformVersion:      aws.String("1.4.0"), PropagateTags: ecstypes.PropagateTagsService,
		NetworkConfiguration: &ecstypes.NetworkConfiguration{AwsvpcConfiguration: &ecstypes.AwsVpcConfiguration{
			Subnets: []string{"subnet-1"}, SecurityGroups: []string{"sg-1"}}},
		Deployments: []ecstypes.Deployment{{Status: aws.String("PRIMARY"),
			ServiceConnectConfiguration: &ecstypes.ServiceConnectConfiguration{Enabled: true},
			VolumeConfigurations:        []ecstypes.ServiceVolumeConfiguration{{Name: aws.String("data")}},
			VpcLatticeConfigurations:    []ecstypes.VpcLatticeConfiguration{{PortName: aws.String("http")}}}},
	}
}

// Every member with a default is found if the file leaves it out, gets the default, and then has no difference that
// the file did not show. The members of task sets stay out of other controllers than ECS.
func TestWithDefaults(t *testing.T) {
	file := &Service{Input: &awsecs.CreateServiceInput{NetworkConfiguration: &ecstypes.NetworkConfiguration{
		AwsvpcConfiguration: &ecstypes.AwsVpcConfiguration{Subnets: []string{"subnet-1"}}}},
		Given: map[string]bool{"networkConfiguration": true}}
	for controller, want := range map[ecstypes.DeploymentControllerType]int{"ECS": len(defaultMembers()) + 1, "CODE_DEPLOY": 7,
		"EXTERNAL": 6} {
		full, diffs := file.WithDefaults(fullService(controller), func(string) bool { return false })
		found := map[string]bool{}
		for _, d := range diffs {
			found[TopLevelMember(d.Path)] = true
		}
		if len(found) != want {
			t.Errorf("%s: %d members differ, want %d: %v", controller, len(found), want, found)
		}
		if data, err := full.JSON(); err != nil || strings.Contains(string(data), "null") {
			t.Errorf("%s: %s %v", controller, data, err)
		}
	}
	if len(file.Given) != 1 || file.Input.PropagateTags != "" {
		t.Errorf("the file itself was changed: %+v", file.Given)
	}
	_, diffs := file.WithDefaults(fullService("ECS"), func(member string) bool { return member != "propagateTags" })
	if len(diffs) != 1 || diffs[0].Path != "propagateTags" {
		t.Errorf("of all members kept except one: %+v", diffs)
	}
}
