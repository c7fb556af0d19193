package ecs_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	smithy "github.com/aws/smithy-go"

	"github.com/sluice-ecs/sluice/awssim/ecs"
	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/awssim/world/worldtest"
)

// bench is a world with the room, and the SDK's own client on it: real codec,
// no sockets.
type bench struct {
	*worldtest.Harness
	*awsecs.Client
	t     *testing.T
	ctx   context.Context
	room  *ecs.Service
	blue  string // target groups behind a load balancer
	green string
}

type transport struct{ server *wire.Server }

func (t transport) Do(r *http.Request) (*http.Response, error) { return t.server.RoundTrip(r) }

func newBench(t *testing.T, o world.Options) *bench {
	t.Helper()
	if o.Settings == nil {
		k := world.DefaultSettings()
		k.StabilityLag = world.Range{} // tests wait by what is shown
		o.Settings = &k
	}
	b := &bench{Harness: worldtest.NewHarness(o), t: t, ctx: t.Context()}
	b.room = ecs.New(b.World)
	b.Client = awsecs.NewFromConfig(aws.Config{
		Region: worldtest.Key.Region, HTTPClient: transport{wire.New(b.World, b.room.API())},
		Credentials:  credentials.NewStaticCredentialsProvider(worldtest.Key.Account, "secret", ""),
		BaseEndpoint: aws.String("http://sim"), Retryer: func() aws.Retryer { return aws.NopRetryer{} },
	})
	b.blue, b.green = b.AddGroup("blue"), b.AddGroup("green")
	must(b.CreateCluster(b.ctx, &awsecs.CreateClusterInput{ClusterName: aws.String("web")}))(t)
	return b
}

// must fails the test on an error.
func must[O any](out *O, err error) func(*testing.T) *O {
	return func(t *testing.T) *O {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
}

// refused asks for an error of that code and text.
func refused[O any](_ *O, err error) func(t *testing.T, code, text string) {
	return func(t *testing.T, code, text string) {
		t.Helper()
		var api smithy.APIError
		if !errors.As(err, &api) {
			t.Fatalf("got %v, want %s: %s", err, code, text)
		}
		if api.ErrorCode() != code || api.ErrorMessage() != text {
			t.Errorf("got  %s: %s\nwant %s: %s", api.ErrorCode(), api.ErrorMessage(), code, text)
		}
	}
}

const invalidParameter = "InvalidParameterException"

// register adds a revision of family api with that image and returns its ARN.
func (b *bench) register(image string) string {
	b.t.Helper()
	return *must(b.RegisterTaskDefinition(b.ctx, fargate("api", image)))(b.t).TaskDefinition.TaskDefinitionArn
}

func fargate(family, image string) *awsecs.RegisterTaskDefinitionInput {
	return &awsecs.RegisterTaskDefinitionInput{
		Family: aws.String(family), NetworkMode: "awsvpc", Cpu: aws.String("256"), Memory: aws.String("512"),
		RequiresCompatibilities: []ecstypes.Compatibility{"FARGATE"}, TaskRoleArn: aws.String("task"),
		ContainerDefinitions: []ecstypes.ContainerDefinition{{
			Name: aws.String("web"), Image: aws.String(image),
			PortMappings: []ecstypes.PortMapping{{ContainerPort: aws.Int32(8080)}},
			Environment:  []ecstypes.KeyValuePair{{Name: aws.String("COLOR"), Value: aws.String("blue")}},
		}},
	}
}

func network() *ecstypes.NetworkConfiguration {
	return &ecstypes.NetworkConfiguration{AwsvpcConfiguration: &ecstypes.AwsVpcConfiguration{Subnets: worldtest.Subnets,
		SecurityGroups: []string{"sg-1"}}}
}

func behind(group string) []ecstypes.LoadBalancer {
	return []ecstypes.LoadBalancer{{TargetGroupArn: aws.String(group), ContainerName: aws.String("web"),
		ContainerPort: aws.Int32(8080)}}
}

// external makes an EXTERNAL service.
func (b *bench) external(desired int32) *ecstypes.Service {
	b.t.Helper()
	return must(b.CreateService(b.ctx, externalInput(desired)))(b.t).Service
}

func externalInput(desired int32) *awsecs.CreateServiceInput {
	return &awsecs.CreateServiceInput{Cluster: aws.String("web"), ServiceName: aws.String("api"),
		DesiredCount:         aws.Int32(desired),
		DeploymentController: &ecstypes.DeploymentController{Type: "EXTERNAL"}}
}

func rollingInput(definition string, desired int32, group string) *awsecs.CreateServiceInput {
	return &awsecs.CreateServiceInput{Cluster: aws.String("web"), ServiceName: aws.String("api"),
		DesiredCount:   aws.Int32(desired),
		TaskDefinition: aws.String(definition), LaunchType: "FARGATE", NetworkConfiguration: network(),
		LoadBalancers: behind(group)}
}

func setInput(definition, group string, percent float64) *awsecs.CreateTaskSetInput {
	return &awsecs.CreateTaskSetInput{Cluster: aws.String("web"), Service: aws.String("api"),
		TaskDefinition: aws.String(definition),
		LaunchType:     "FARGATE", NetworkConfiguration: network(), LoadBalancers: behind(group),
		Scale: &ecstypes.Scale{Unit: "PERCENT", Value: percent}}
}

func (b *bench) set(definition, group string, percent float64) *ecstypes.TaskSet {
	b.t.Helper()
	return must(b.CreateTaskSet(b.ctx, setInput(definition, group, percent)))(b.t).TaskSet
}

// service describes service api.
func (b *bench) service() ecstypes.Service {
	b.t.Helper()
	out := must(b.DescribeServices(b.ctx, &awsecs.DescribeServicesInput{Cluster: aws.String("web"),
		Services: []string{"api"}}))(b.t)
	if len(out.Services) != 1 {
		b.t.Fatalf("services %v, failures %v", out.Services, out.Failures)
	}
	return out.Services[0]
}

// await moves time on until f holds for service api.
func (b *bench) await(what string, f func(ecstypes.Service) bool) ecstypes.Service {
	b.t.Helper()
	var s ecstypes.Service
	if err := b.Until(20*time.Minute, func() bool { s = b.service(); return f(s) }); err != nil {
		b.t.Fatalf("%s: %v", what, err)
	}
	return s
}

// steady waits until the service has n task sets and all are steady.
func (b *bench) steady(n int) ecstypes.Service {
	b.t.Helper()
	return b.await("steady", func(s ecstypes.Service) bool {
		for _, ts := range s.TaskSets {
			if ts.StabilityStatus != "STEADY_STATE" {
				return false
			}
		}
		return len(s.TaskSets) == n
	})
}

func (b *bench) promote(ts *ecstypes.TaskSet) {
	b.t.Helper()
	must(b.UpdateServicePrimaryTaskSet(b.ctx, &awsecs.UpdateServicePrimaryTaskSetInput{
		Cluster: aws.String("web"), Service: aws.String("api"), PrimaryTaskSet: ts.Id}))(b.t)
}

func (b *bench) scale(ts *ecstypes.TaskSet, percent float64) *ecstypes.TaskSet {
	b.t.Helper()
	return must(b.UpdateTaskSet(b.ctx, &awsecs.UpdateTaskSetInput{Cluster: aws.String("web"),
		Service: aws.String("api"), TaskSet: ts.TaskSetArn,
		Scale: &ecstypes.Scale{Unit: "PERCENT", Value: percent}}))(b.t).TaskSet
}
