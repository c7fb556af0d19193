package awssim_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	awssts "github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/sluice-ecs/sluice/awssim"
)

var anyARN = regexp.MustCompile(`arn:[a-z-]+:`)

// A world of another partition of AWS takes and returns ARNs of its Region's partition.
func TestARNsAreOfTheRegionsPartition(t *testing.T) {
	for region, partition := range map[string]string{"cn-north-1": "aws-cn", "us-gov-west-1": "aws-us-gov",
		"eusc-de-east-1": "aws-eusc", "eu-west-1": "aws"} {
		s := newSim(t, awssim.Options{Clock: newHands()})
		load(t, s, strings.NewReplacer("us-east-1", region, "arn:aws:", "arn:"+partition+":").Replace(string(canaryFile(t))))
		ecs, elb := awsecs.NewFromConfig(s.Config()), awselb.NewFromConfig(s.Config())
		services, err := ecs.DescribeServices(ctx, &awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
			Services: []string{"web"}})
		if err != nil || len(services.Services) != 1 {
			t.Fatal(services, err)
		}
		tasks, err := ecs.ListTasks(ctx, &awsecs.ListTasksInput{Cluster: aws.String("prod")})
		if err != nil || len(tasks.TaskArns) == 0 {
			t.Fatal(tasks, err)
		}
		set := services.Services[0].TaskSets[0]
		definition, err1 := ecs.DescribeTaskDefinition(ctx,
			&awsecs.DescribeTaskDefinitionInput{TaskDefinition: set.TaskDefinition})
		_, err2 := ecs.ListTagsForResource(ctx,
			&awsecs.ListTagsForResourceInput{ResourceArn: services.Services[0].ServiceArn})
		balancers, err3 := elb.DescribeLoadBalancers(ctx, &awselb.DescribeLoadBalancersInput{})
		who, err4 := awssts.NewFromConfig(s.Config()).GetCallerIdentity(ctx, &awssts.GetCallerIdentityInput{})
		for _, err := range []error{err1, err2, err3, err4} {
			if err != nil {
				t.Error(err)
			}
		}
		text, _ := json.Marshal([]any{services, tasks, definition, balancers, who.Arn})
		found := anyARN.FindAllString(string(text), -1)
		for _, arn := range found {
			if arn != "arn:"+partition+":" {
				t.Errorf("%s: %s", region, arn)
			}
		}
		if len(found) < 10 {
			t.Errorf("%s: %d ARNs only", region, len(found))
		}
	}
}

// An ARN that cannot be of the world says which part differs.
func TestARNsOfAnotherPlaceAreRefused(t *testing.T) {
	const group = "targetGroups: [{name: a, arn: '%'}]\n"
	for arn, want := range map[string]string{
		"arn:aws-cn:elasticloadbalancing:us-east-1:000000000000:targetgroup/a/1": "the partition of arn:aws-cn:elasticloadbalancing:us-east-1:000000000000:targetgroup/a/1 is not aws",
		"arn:aws:elasticloadbalancing:us-east-2:000000000000:targetgroup/a/1":    "the Region of arn:aws:elasticloadbalancing:us-east-2:000000000000:targetgroup/a/1 is not us-east-1",
		"arn:aws:elasticloadbalancing:us-east-1:000000000000:targetgroup/b/1":    "arn:aws:elasticloadbalancing:us-east-1:000000000000:targetgroup/b/1 must name targetgroup/a/…",
		"web": "the prefix of web is not arn",
	} {
		s := newSim(t, awssim.Options{Clock: newHands()})
		err := s.Load("world.yaml", []byte(strings.Replace(group, "%", arn, 1)))
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v", arn, err)
		}
	}
}
