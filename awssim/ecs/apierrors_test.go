package ecs_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

func TestValuesThatNoEnumerationHasAreRefused(t *testing.T) {
	b := newBench(t, world.Options{})
	b.rolling(1, nil)
	_, err := b.UpdateService(b.ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("web"), Service: aws.String("api"),
		PropagateTags: "ALL"})
	refused[any](nil, err)(t, invalidParameter,
		"1 validation error detected: Value 'ALL' at 'propagateTags' failed to satisfy constraint: Member must "+
			"satisfy enum value set: [TASK_DEFINITION, SERVICE, NONE]")
	_, err = b.DescribeServices(b.ctx, &awsecs.DescribeServicesInput{Cluster: aws.String("web"),
		Services: []string{"api"}, Include: []ecstypes.ServiceField{"TAGS", "ALL"}})
	refused[any](nil, err)(t, invalidParameter,
		"1 validation error detected: Value '[TAGS, ALL]' at 'include' failed to satisfy constraint: Member must "+
			"satisfy constraint: [Member must satisfy enum value set: [TAGS]]")
}

func TestServicesOnFargateAreRefused(t *testing.T) {
	b := newBench(t, world.Options{})
	d := b.register("sim/web:v1")
	create := func(change func(*awsecs.CreateServiceInput)) error {
		in := &awsecs.CreateServiceInput{Cluster: aws.String("web"), ServiceName: aws.String("new"), TaskDefinition: &d,
			DesiredCount: aws.Int32(1),
			LaunchType:   "FARGATE", NetworkConfiguration: network()}
		change(in)
		_, err := b.CreateService(b.ctx, in)
		return err
	}
	for text, change := range map[string]func(*awsecs.CreateServiceInput){
		"Placement constraints are not supported with FARGATE launch type.": func(in *awsecs.CreateServiceInput) {
			in.PlacementConstraints = []ecstypes.PlacementConstraint{{Type: "distinctInstance"}}
		},
		"Placement strategies are not supported with FARGATE launch type.": func(in *awsecs.CreateServiceInput) {
			in.PlacementStrategy = []ecstypes.PlacementStrategy{{Type: "random"}}
		},
		"You cannot specify an IAM role for services that require a service linked role.": func(in *awsecs.CreateServiceInput) {
			in.Role = aws.String("arn:aws:iam::123456789012:role/ecs")
		},
		"The platform version must be null when specifying an EC2 launch type.": func(in *awsecs.CreateServiceInput) {
			in.LaunchType, in.PlatformVersion = "EC2", aws.String("LATEST")
		},
	} {
		refused[any](nil, create(change))(t, invalidParameter, text)
	}
	err := create(func(in *awsecs.CreateServiceInput) { in.PlatformVersion = aws.String("9.0.0") })
	refused[any](nil, err)(t, "PlatformUnknownException", "The specified platform does not exist.")
	err = create(func(in *awsecs.CreateServiceInput) { in.Monitoring = &ecstypes.MonitoringConfiguration{} })
	refused[any](nil, err)(t, "UnsupportedFeatureException", "Monitoring of services: not simulated.")
}

func TestTaskIDsHaveTheirLength(t *testing.T) {
	b := newBench(t, world.Options{})
	refused(b.DescribeTasks(b.ctx, &awsecs.DescribeTasksInput{Cluster: aws.String("web"), Tasks: []string{"0123"}}))(t,
		invalidParameter, "taskId length should be one of [32,36]")
	refused(b.StopTask(b.ctx, &awsecs.StopTaskInput{Cluster: aws.String("web"), Task: aws.String("0123")}))(t,
		invalidParameter, "taskId length should be one of [32,36]")
}

// Lists of a cluster that are empty are there, and a rolling service has a circuit
// breaker that is off.
func TestWhatIsNotSetIsShown(t *testing.T) {
	b := newBench(t, world.Options{})
	b.rolling(1, nil)
	c := must(b.DescribeClusters(b.ctx, &awsecs.DescribeClustersInput{Clusters: []string{"web"},
		Include: []ecstypes.ClusterField{"TAGS"}}))(t).Clusters[0]
	if c.CapacityProviders == nil || c.DefaultCapacityProviderStrategy == nil || c.Tags == nil || c.Settings == nil {
		t.Errorf("%+v", c)
	}
	if x := b.service().DeploymentConfiguration.DeploymentCircuitBreaker; x == nil || x.Enable || x.Rollback {
		t.Errorf("%+v", x)
	}
}
