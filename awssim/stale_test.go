package awssim_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscd "github.com/aws/aws-sdk-go-v2/service/codedeploy"
	cdtypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	smithy "github.com/aws/smithy-go"

	"github.com/sluice-ecs/sluice/awssim"
)

// readsOfADeployment are AWS's operations that a deployment tool decides by.
var readsOfADeployment = map[string][]string{
	"ecs": {"DescribeServices", "ListServices", "DescribeTaskSets", "DescribeServiceDeployments",
		"ListServiceDeployments", "DescribeServiceRevisions",
		"DescribeTasks", "ListTasks", "DescribeClusters", "ListClusters", "DescribeTaskDefinition",
		"ListTaskDefinitions", "ListTagsForResource"},
	"elasticloadbalancing": {"DescribeTargetHealth", "DescribeRules", "DescribeListeners", "DescribeTargetGroups",
		"DescribeTargetGroupAttributes", "DescribeLoadBalancers"},
	"servicediscovery": {"GetService", "GetNamespace", "GetOperation", "GetInstance", "ListInstances",
		"ListNamespaces", "ListServices", "ListOperations", "GetInstancesHealthStatus", "DiscoverInstances"},
	"codedeploy": {"GetDeployment", "BatchGetDeployments", "ListDeployments", "GetDeploymentGroup",
		"BatchGetDeploymentGroups", "ListDeploymentGroups", "ListApplications",
		"BatchGetApplications", "ListDeploymentTargets", "GetDeploymentTarget", "BatchGetDeploymentTargets",
		"GetApplicationRevision", "GetDeploymentConfig"},
	"application-autoscaling": {"DescribeScalableTargets", "DescribeScalingPolicies", "DescribeScheduledActions",
		"DescribeScalingActivities"},
	"cloudwatch": {"DescribeAlarms", "GetMetricData", "GetMetricStatistics"},
	"logs":       {"GetLogEvents", "FilterLogEvents", "DescribeLogStreams", "DescribeLogGroups"},
}

func TestEveryReadOfADeploymentCanBeStale(t *testing.T) {
	s := newSim(t, awssim.Options{Clock: newHands()})
	stale := awssim.StaleReads(s)
	for service, names := range readsOfADeployment {
		for _, name := range names {
			if !slices.Contains(stale, service+":"+name) {
				t.Errorf("%s:%s is never stale", service, name)
			}
		}
	}
	for _, name := range stale {
		if _, op, _ := strings.Cut(name, ":"); strings.HasPrefix(op, "Create") || strings.HasPrefix(op, "Update") ||
			strings.HasPrefix(op, "Put") {
			t.Errorf("%s writes", name)
		}
	}
}

// A service of a moment ago is MISSING where a read is older than it, whatever was
// asked before; it is not listed either.
func TestAnObjectOfAMomentAgoIsNotThereYet(t *testing.T) {
	h := newHands()
	s := newSim(t, awssim.Options{Clock: h})
	load(t, s, "clusters: [prod]\nservices:\n  - {name: old, controller: ECS, count: 1, image: \"sim/old:v1\"}\n")
	c := awsecs.NewFromConfig(s.Config())
	if _, err := c.CreateService(ctx, &awsecs.CreateServiceInput{Cluster: aws.String("prod"),
		ServiceName:          aws.String("web"),
		DeploymentController: &ecstypes.DeploymentController{Type: "EXTERNAL"}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Inject("stale ecs:* by=8s"); err != nil {
		t.Fatal(err)
	}
	h.move(3 * time.Second)
	out, err := c.DescribeServices(ctx, &awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
		Services: []string{"web", "old"}})
	if err != nil || len(out.Services) != 1 || len(out.Failures) != 1 || *out.Failures[0].Reason != "MISSING" {
		t.Errorf("%+v, %v", out, err)
	}
	list, err := c.ListServices(ctx, &awsecs.ListServicesInput{Cluster: aws.String("prod")})
	if err != nil || len(list.ServiceArns) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
	h.move(6 * time.Second)
	out, err = c.DescribeServices(ctx, &awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
		Services: []string{"web"}})
	if err != nil || len(out.Services) != 1 {
		t.Errorf("8 s later it is there: %+v, %v", out, err)
	}
}

// CodeDeploy's batches are as stale as its other reads.
func TestADeploymentOfAMomentAgoIsNotThereYet(t *testing.T) {
	h := newHands()
	s := newSim(t, awssim.Options{Clock: h})
	file, err := os.ReadFile("../examples/codedeploy/world.yaml")
	if err != nil {
		t.Fatal(err)
	}
	load(t, s, string(file))
	c := awscd.NewFromConfig(s.Config())
	def, err := awsecs.NewFromConfig(s.Config()).DescribeTaskDefinition(ctx,
		&awsecs.DescribeTaskDefinitionInput{TaskDefinition: aws.String("web")})
	if err != nil {
		t.Fatal(err)
	}
	spec := fmt.Sprintf("version: 0.0\nResources:\n  - TargetService:\n      Type: AWS::ECS::Service\n      "+
		"Properties:\n        TaskDefinition: %s\n"+
		"        LoadBalancerInfo: {ContainerName: web, ContainerPort: 80}\n", *def.TaskDefinition.TaskDefinitionArn)
	d, err := c.CreateDeployment(ctx, &awscd.CreateDeploymentInput{ApplicationName: aws.String("web"),
		DeploymentGroupName: aws.String("web"),
		Revision: &cdtypes.RevisionLocation{RevisionType: "AppSpecContent",
			AppSpecContent: &cdtypes.AppSpecContent{Content: &spec}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Inject("stale codedeploy:* by=8s"); err != nil {
		t.Fatal(err)
	}
	h.move(3 * time.Second)
	many, err := c.BatchGetDeployments(ctx, &awscd.BatchGetDeploymentsInput{DeploymentIds: []string{*d.DeploymentId}})
	if err != nil || len(many.DeploymentsInfo) != 0 {
		t.Errorf("%+v, %v", many, err)
	}
	var api smithy.APIError
	if _, err := c.GetDeployment(ctx, &awscd.GetDeploymentInput{DeploymentId: d.DeploymentId}); !errors.As(err, &api) ||
		api.ErrorCode() != "DeploymentDoesNotExistException" {
		t.Error(err)
	}
}
