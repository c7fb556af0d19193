package awssim_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/sluice-ecs/sluice/awssim"
)

const definedWorld = `
account: "123456789012"
region: us-east-1
subnets: [subnet-a, subnet-b, subnet-c, subnet-d]
clusters: [prod]
targetGroups:
  - name: web-primary
    arn: ` + primaryARN + `
    aws: {Protocol: HTTP, Port: 8080, HealthCheckPath: /ready, Matcher: {HttpCode: 200-299}}
loadBalancers:
  - name: web
    listeners:
      - port: 443
        aws:
          Protocol: HTTPS
          Certificates: [{CertificateArn: "arn:aws:acm:us-east-1:123456789012:certificate/a"}]
          DefaultActions: [{Type: redirect, RedirectConfig: {StatusCode: HTTP_301, Path: /other}}]
        rules:
          - priority: 5
            aws:
              Conditions: [{Field: query-string, QueryStringConfig: {Values: [{Key: a, Value: b}]}}]
              Actions: [{Type: forward, TargetGroupArn: ` + primaryARN + `}]
services:
  - name: web
    taskDefinition:
      family: shop-web
      networkMode: awsvpc
      requiresCompatibilities: [FARGATE]
      cpu: "512"
      memory: "1024"
      taskRoleArn: arn:aws:iam::123456789012:role/app
      containerDefinitions:
        - {name: app, image: "sim/app:v7", portMappings: [{containerPort: 8080, name: http}]}
        - {name: proxy, image: "sim/proxy:v1", essential: false}
    aws:
      desiredCount: 3
      CONTROLLER
      launchType: FARGATE
      enableExecuteCommand: true
      networkConfiguration: {awsvpcConfiguration: {subnets: [subnet-a, subnet-d], securityGroups: [sg-1]}}
      loadBalancers: [{targetGroupArn: ` + primaryARN + `, containerName: app, containerPort: 8080}]
`

// A world file has a service, its groups and rules in AWS's shape, for every deployment controller.
func TestWorldInAWSShape(t *testing.T) {
	for _, controller := range []string{"ECS", "EXTERNAL"} {
		t.Run(controller, func(t *testing.T) {
			s := newSim(t, awssim.Options{Clock: newHands()})
			load(t, s, strings.Replace(definedWorld, "CONTROLLER", "deploymentController: {type: "+controller+"}", 1))
			ecs, elb := awsecs.NewFromConfig(s.Config()), awselb.NewFromConfig(s.Config())
			out, err := ecs.DescribeServices(ctx, &awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
				Services: []string{"web"}})
			if err != nil || len(out.Services) != 1 {
				t.Fatal(out, err)
			}
			svc := out.Services[0]
			definition, network := svc.TaskDefinition, svc.NetworkConfiguration
			if controller == "EXTERNAL" {
				definition, network = svc.TaskSets[0].TaskDefinition, svc.TaskSets[0].NetworkConfiguration
			}
			if svc.RunningCount != 3 || !svc.EnableExecuteCommand || network.AwsvpcConfiguration.Subnets[1] != "subnet-d" {
				t.Errorf("%+v", svc)
			}
			if !strings.HasSuffix(aws.ToString(definition), "task-definition/shop-web:1") {
				t.Errorf("it runs %s", aws.ToString(definition))
			}
			groups, err := elb.DescribeTargetGroups(ctx, &awselb.DescribeTargetGroupsInput{})
			if err != nil || *groups.TargetGroups[0].HealthCheckPath != "/ready" || *groups.TargetGroups[0].Port != 8080 {
				t.Errorf("%+v %v", groups, err)
			}
			checkDefinedRules(t, elb, groups.TargetGroups[0].LoadBalancerArns[0])
		})
	}
}

func checkDefinedRules(t *testing.T, elb *awselb.Client, balancer string) {
	t.Helper()
	listeners, err := elb.DescribeListeners(ctx, &awselb.DescribeListenersInput{LoadBalancerArn: &balancer})
	if err != nil || listeners.Listeners[0].Protocol != "HTTPS" {
		t.Fatalf("%+v %v", listeners, err)
	}
	rules, err := elb.DescribeRules(ctx, &awselb.DescribeRulesInput{ListenerArn: listeners.Listeners[0].ListenerArn})
	if err != nil || len(rules.Rules) != 2 {
		t.Fatal(rules, err)
	}
	first := rules.Rules[0]
	if *first.Conditions[0].QueryStringConfig.Values[0].Key != "a" ||
		*first.Actions[0].ForwardConfig.TargetGroups[0].TargetGroupArn != primaryARN ||
		rules.Rules[1].Actions[0].Type != "redirect" {
		t.Errorf("%+v", rules.Rules)
	}
}

// A member that does not fit AWS's request is an error with its line.
func TestWorldInWrongShape(t *testing.T) {
	for change, want := range map[string]string{
		"desiredCount: 3=desiredCount: three": "world.yaml:24: services[0]: DesiredCount is a string, and AWS expects " +
			"a number there",
		"launchType: FARGATE=lunchType: FARGATE": `services[0]: AWS's request has no member "lunchType"`,
		`cpu: "512"=cpu: "300"`:                  "services[0]: taskDefinition: ",
	} {
		old, with, _ := strings.Cut(change, "=")
		text := strings.Replace(strings.Replace(definedWorld, old, with, 1), "CONTROLLER",
			"deploymentController: {type: ECS}", 1)
		s := newSim(t, awssim.Options{Clock: newHands()})
		err := s.Load("world.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", change, err)
		}
	}
}

// The first deployment of a service in a settled world has ended, whatever its configuration lets later ones wait for.
func TestSettledWorldHasNoDeploymentInProgress(t *testing.T) {
	for _, strategy := range []string{"ROLLING", "BLUE_GREEN"} {
		s := newSim(t, awssim.Options{Clock: newHands()})
		file, _, _ := strings.Cut(definedWorld, "      loadBalancers: [{targetGroupArn")
		load(t, s, strings.Replace(file, "CONTROLLER", "deploymentConfiguration: {strategy: "+strategy+
			", bakeTimeInMinutes: 30}", 1))
		out, err := awsecs.NewFromConfig(s.Config()).DescribeServices(ctx, &awsecs.DescribeServicesInput{
			Cluster: aws.String("prod"), Services: []string{"web"}})
		if err != nil || len(out.Services) != 1 {
			t.Fatal(out, err)
		}
		svc := out.Services[0]
		c := svc.DeploymentConfiguration
		if len(svc.Deployments) != 1 || svc.Deployments[0].RolloutState != ecstypes.DeploymentRolloutStateCompleted ||
			string(c.Strategy) != strategy || aws.ToInt32(c.BakeTimeInMinutes) != 30 {
			t.Errorf("%s: %+v %+v", strategy, svc.Deployments, c)
		}
	}
}
