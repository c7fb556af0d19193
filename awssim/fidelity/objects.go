package main

import (
	"context"
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	cdtypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	sdtypes "github.com/aws/aws-sdk-go-v2/service/servicediscovery/types"
	smithy "github.com/aws/smithy-go"
)

// sharedObjects are resources that several rows share; "" means not created yet.
type sharedObjects struct {
	cluster, service, definition string
	groups                       []string
	namespace                    string
	listener                     string
}

func isMissing(err error) bool {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return false
	}
	for _, word := range []string{"NotFound", "DoesNotExist", "NotActive"} {
		if strings.Contains(api.ErrorCode(), word) {
			return true
		}
	}
	return false
}

func ptr[T any](v T) *T { return &v }

func (s *site) ecsTags() []ecstypes.Tag {
	return []ecstypes.Tag{{Key: ptr(tagKey), Value: &s.prefix}}
}
func (s *site) elbTags() []elbtypes.Tag {
	return []elbtypes.Tag{{Key: ptr(tagKey), Value: &s.prefix}}
}
func (s *site) mapTags() []sdtypes.Tag { return []sdtypes.Tag{{Key: ptr(tagKey), Value: &s.prefix}} }
func (s *site) deployTags() []cdtypes.Tag {
	return []cdtypes.Tag{{Key: ptr(tagKey), Value: &s.prefix}}
}

// clusterName returns the program's cluster. It creates the cluster at the first call.
func (s *site) clusterName(c *rowRun) string {
	if s.objects.cluster == "" {
		name := s.prefix
		s.removeLater("cluster "+name, func(ctx context.Context) error { return s.removeCluster(ctx, name) })
		_, err := s.ecs.CreateCluster(c.ctx, &awsecs.CreateClusterInput{ClusterName: &name, Tags: s.ecsTags()})
		c.requireCall("create the cluster", err)
		s.objects.cluster = name
	}
	return s.objects.cluster
}

// serviceName returns the program's service of controller EXTERNAL, without tasks. It creates the
// service at the first call.
func (s *site) serviceName(c *rowRun) string {
	if s.objects.service == "" {
		s.objects.service = s.makeService(c, s.prefix)
	}
	return s.objects.service
}

func (s *site) makeService(c *rowRun, name string) string {
	cluster := s.clusterName(c)
	s.removeLater("service "+name, func(ctx context.Context) error { return s.removeService(ctx, cluster, name) })
	_, err := s.ecs.CreateService(c.ctx, s.externalInput(c, name))
	c.requireCall("create the service", err)
	return name
}

func (s *site) externalInput(c *rowRun, name string) *awsecs.CreateServiceInput {
	return &awsecs.CreateServiceInput{Cluster: aws.String(s.clusterName(c)), ServiceName: &name,
		DesiredCount:         aws.Int32(0),
		DeploymentController: &ecstypes.DeploymentController{Type: ecstypes.DeploymentControllerTypeExternal},
		Tags:                 s.ecsTags()}
}

// definitionARN returns the program's task definition, with its revision. It registers the
// definition if needed.
func (s *site) definitionARN(c *rowRun) string {
	if s.objects.definition == "" {
		s.objects.definition = s.registerDefinition(c)
	}
	return s.objects.definition
}

func (s *site) registerDefinition(c *rowRun) string {
	s.removeLater("task definitions "+s.prefix,
		func(ctx context.Context) error { return s.removeDefinitions(ctx, s.prefix) })
	out, err := s.ecs.RegisterTaskDefinition(c.ctx, &awsecs.RegisterTaskDefinitionInput{Family: &s.prefix,
		NetworkMode: "awsvpc", Cpu: aws.String("256"),
		Memory: aws.String("512"), RequiresCompatibilities: []ecstypes.Compatibility{"FARGATE"}, Tags: s.ecsTags(),
		ContainerDefinitions: []ecstypes.ContainerDefinition{{Name: aws.String("app"),
			Image:        aws.String("public.ecr.aws/nginx/nginx:stable"),
			PortMappings: []ecstypes.PortMapping{{ContainerPort: aws.Int32(80)}}}}})
	c.requireCall("register the task definition", err)
	return aws.ToString(out.TaskDefinition.TaskDefinitionArn)
}

// createTaskSet creates a task set of a service. It starts no task, because the service's desired
// count is 0.
func (s *site) createTaskSet(c *rowRun, service string, change func(*awsecs.CreateTaskSetInput)) (*ecstypes.TaskSet,
	error) {
	in := &awsecs.CreateTaskSetInput{Cluster: aws.String(s.clusterName(c)), Service: &service,
		TaskDefinition: aws.String(s.definitionARN(c)),
		LaunchType:     "FARGATE", Scale: &ecstypes.Scale{Unit: "PERCENT"}, Tags: s.ecsTags(),
		NetworkConfiguration: &ecstypes.NetworkConfiguration{AwsvpcConfiguration: &ecstypes.AwsVpcConfiguration{Subnets: s.subnets}}}
	if change != nil {
		change(in)
	}
	out, err := s.ecs.CreateTaskSet(c.ctx, in)
	if err != nil {
		return nil, err
	}
	return out.TaskSet, nil
}

// groupARNs returns the program's two target groups. It creates them at the first call.
func (s *site) groupARNs(c *rowRun) []string {
	for len(s.objects.groups) < 2 {
		out, err := s.makeGroup(c, []string{"-a", "-b"}[len(s.objects.groups)], 80)
		c.requireCall("create a target group", err)
		s.objects.groups = append(s.objects.groups, aws.ToString(out.TargetGroups[0].TargetGroupArn))
	}
	return s.objects.groups
}

func (s *site) makeGroup(c *rowRun, suffix string, port int32) (*awselb.CreateTargetGroupOutput, error) {
	name := s.prefix + suffix
	s.removeLater("target group "+name, func(ctx context.Context) error { return s.removeGroup(ctx, name) })
	return s.elb.CreateTargetGroup(c.ctx, &awselb.CreateTargetGroupInput{Name: &name, Port: &port, Protocol: "HTTP",
		TargetType: "ip", VpcId: &s.vpc, Tags: s.elbTags()})
}
