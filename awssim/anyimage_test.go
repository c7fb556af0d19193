package awssim_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim"
)

const instanceWorld = `
clusters: [prod]
capacity: [{instances: 2, capacityProviders: [FARGATE, FARGATE_SPOT, machines], defaultStrategy: [{provider: machines, weight: 1}]}]
targetGroups: [{name: shop, type: instance, healthCheck: {interval: 5s, timeout: 2s}, deregistrationDelay: 0s}]
loadBalancers: [{name: edge, listeners: [{port: 80, forward: {shop: 1}}]}]
images: {"*agent:9": {noboot: true}, "*/slow/*": {version: slow}}
knobs: {delays: none}
`

// shopDefinition is a task definition as users have it: a public image and a sidecar, in bridge mode.
func shopDefinition(image, agent string) *awsecs.RegisterTaskDefinitionInput {
	return &awsecs.RegisterTaskDefinitionInput{
		Family: aws.String("shop"), NetworkMode: "bridge",
		ContainerDefinitions: []ecstypes.ContainerDefinition{
			{Name: aws.String("web"), Image: aws.String(image), Memory: aws.Int32(128),
				PortMappings: []ecstypes.PortMapping{{ContainerPort: aws.Int32(80)}}},
			{Name: aws.String("agent"), Image: aws.String(agent), Memory: aws.Int32(64)},
		},
	}
}

// Images that no file declares answer requests, through the load balancer and at the host port of
// their container instance; patterns select other behaviours.
func TestAnyImageServesOnContainerInstances(t *testing.T) {
	s := newSim(t, awssim.Options{Clock: newFast(20), Speed: 20})
	load(t, s, instanceWorld)
	l := listen(t, s)
	cfg := remote(t, s, l)
	client := awsecs.NewFromConfig(cfg)
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := client.RegisterTaskDefinition(ctx, shopDefinition("public.ecr.aws/nginx/nginx:1.27", "log/agent:7"))
	do(err)
	_, err = client.CreateService(ctx, &awsecs.CreateServiceInput{Cluster: aws.String("prod"),
		ServiceName: aws.String("shop"), TaskDefinition: aws.String("shop"), DesiredCount: aws.Int32(3),
		LoadBalancers: []ecstypes.LoadBalancer{{TargetGroupArn: aws.String(s.View().Regions[0].TargetGroups[0].ARN),
			ContainerName: aws.String("web"), ContainerPort: aws.Int32(80)}}})
	do(err)
	at := door(t, cfg)
	serves := func(version string) func() bool {
		return func() bool {
			for range 6 {
				if status, body := fetch(t, "GET", at, ""); status != 200 || body != version+"\n" {
					return false
				}
			}
			return true
		}
	}
	until(t, "nginx serves", serves("nginx:1.27"))
	for _, x := range s.View().Regions[0].TargetGroups[0].Targets {
		if !strings.HasPrefix(x.ID, "i-") || x.Port < 32768 {
			t.Errorf("%+v", x)
		}
	}
	task := s.View().Regions[0].Clusters[0].Services[0].TaskSets[0].Tasks[0]
	for _, x := range s.View().Regions[0].TargetGroups[0].Targets {
		if x.Task != task.ID {
			continue
		}
		if status, body := fetch(t, "GET", fmt.Sprintf("http://%s:%d", task.Address, x.Port), ""); status != 200 ||
			body != "nginx:1.27\n" {
			t.Errorf("at the host port: %d %q", status, body)
		}
	}
	deploy := func(image, agent string) {
		t.Helper()
		_, err := client.RegisterTaskDefinition(ctx, shopDefinition(image, agent))
		do(err)
		_, err = client.UpdateService(ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("prod"),
			Service: aws.String("shop"), TaskDefinition: aws.String("shop")})
		do(err)
	}
	deploy("registry.test/slow/web:3", "log/agent:8")
	until(t, "the next version serves", serves("slow"))
	deploy("nginx", "log/agent:9")
	until(t, "a sidecar cannot be pulled", func() bool {
		return strings.Contains(stoppedReasons(t, client), "CannotPullContainerError: ")
	})
	if !serves("slow")() {
		t.Error("the previous version does not serve")
	}
}

func stoppedReasons(t *testing.T, client *awsecs.Client) (all string) {
	t.Helper()
	list, err := client.ListTasks(ctx, &awsecs.ListTasksInput{Cluster: aws.String("prod"), DesiredStatus: "STOPPED"})
	if err != nil || len(list.TaskArns) == 0 {
		return ""
	}
	out, err := client.DescribeTasks(ctx, &awsecs.DescribeTasksInput{Cluster: aws.String("prod"), Tasks: list.TaskArns})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range out.Tasks {
		all += aws.ToString(x.StoppedReason) + "\n"
	}
	return all
}

func TestCapacityOfWorldFilesIsChecked(t *testing.T) {
	for file, want := range map[string]string{
		"clusters: [a]\ncapacity:\n  - {cluster: b}\n":      `world.yaml:3: capacity[0].cluster: there is no cluster "b"; there are a`,
		"clusters: [a]\ncapacity:\n  - {instances: -1}\n":   "world.yaml:3: capacity[0].instances: -1 is not a number",
		"clusters: [a, b]\ncapacity:\n  - {instances: 1}\n": "world.yaml:3: capacity[0]: cluster is missing",
		"clusters: [a]\ncapacity:\n  - capacityProviders: [FARGATE]\n    defaultStrategy:\n      - {provider: own}\n": `world.yaml:5: ` +
			`capacity[0].defaultStrategy[0].provider: "own" is not one of its capacityProviders: FARGATE`,
		"targetGroups:\n  - {name: a, type: lambda}\n": `world.yaml:2: targetGroups[0].type: "lambda" is neither ip nor instance`,
	} {
		err := newSim(t, awssim.Options{}).Load("world.yaml", []byte(file))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q:\n  got  %v\n  want %s", file, err, want)
		}
	}
}
