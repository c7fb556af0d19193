package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsaas "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling"
	awscw "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	awslogs "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	awscd "github.com/aws/aws-sdk-go-v2/service/codedeploy"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	awssd "github.com/aws/aws-sdk-go-v2/service/servicediscovery"
)

// leftover is a resource of an earlier run.
type leftover struct {
	what   string
	remove func(context.Context) error
}

// removeLeftovers removes all resources with the program's tag, of every earlier run.
func (s *site) removeLeftovers(ctx context.Context, out io.Writer) error {
	var failed []error
	for _, find := range []func(context.Context) ([]leftover, error){s.leftoverScaling, s.leftoverDeploy,
		s.leftoverClusters, s.leftoverDefinitions, s.leftoverBalancers, s.leftoverGroups, s.leftoverNamespaces,
		s.leftoverAlarms, s.leftoverLogs} {
		all, err := find(ctx)
		failed = append(failed, err)
		for _, x := range all {
			err := s.removeWithRetry(ctx, x.remove)
			failed = append(failed, err)
			if err == nil {
				fmt.Fprintln(out, "removed", x.what)
			}
		}
	}
	return errors.Join(failed...)
}

func (s *site) leftoverClusters(ctx context.Context) (all []leftover, err error) {
	for pages := awsecs.NewListClustersPaginator(s.ecs, &awsecs.ListClustersInput{}); pages.HasMorePages(); {
		out, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, arn := range out.ClusterArns {
			tags, err := s.ecs.ListTagsForResource(ctx, &awsecs.ListTagsForResourceInput{ResourceArn: &arn})
			if err != nil {
				return nil, err
			}
			for _, t := range tags.Tags {
				if aws.ToString(t.Key) == tagKey {
					all = append(all, leftover{"cluster " + arn,
						func(ctx context.Context) error { return s.removeCluster(ctx, arn) }})
				}
			}
		}
	}
	return all, nil
}

func (s *site) leftoverDefinitions(ctx context.Context) (all []leftover, err error) {
	for pages := awsecs.NewListTaskDefinitionFamiliesPaginator(s.ecs,
		&awsecs.ListTaskDefinitionFamiliesInput{FamilyPrefix: ptr(namePrefix),
			Status: "ACTIVE"}); pages.HasMorePages(); {
		out, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, family := range out.Families {
			all = append(all, leftover{"task definitions " + family,
				func(ctx context.Context) error { return s.removeDefinitions(ctx, family) }})
		}
	}
	return all, nil
}

func (s *site) leftoverBalancers(ctx context.Context) (all []leftover, err error) {
	for pages := awselb.NewDescribeLoadBalancersPaginator(s.elb,
		&awselb.DescribeLoadBalancersInput{}); pages.HasMorePages(); {
		out, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, b := range out.LoadBalancers {
			name := aws.ToString(b.LoadBalancerName)
			if s.isTagged(ctx, name, aws.ToString(b.LoadBalancerArn)) {
				all = append(all, leftover{"load balancer " + name,
					func(ctx context.Context) error { return s.removeBalancer(ctx, name) }})
			}
		}
	}
	return all, nil
}

func (s *site) leftoverGroups(ctx context.Context) (all []leftover, err error) {
	for pages := awselb.NewDescribeTargetGroupsPaginator(s.elb,
		&awselb.DescribeTargetGroupsInput{}); pages.HasMorePages(); {
		out, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, g := range out.TargetGroups {
			name := aws.ToString(g.TargetGroupName)
			if s.isTagged(ctx, name, aws.ToString(g.TargetGroupArn)) {
				all = append(all, leftover{"target group " + name,
					func(ctx context.Context) error { return s.removeGroup(ctx, name) }})
			}
		}
	}
	return all, nil
}

// isTagged reports whether a resource of a load balancer is the program's. It calls AWS only for
// names with the program's prefix.
func (s *site) isTagged(ctx context.Context, name, arn string) bool {
	if !strings.HasPrefix(name, namePrefix) {
		return false
	}
	out, err := s.elb.DescribeTags(ctx, &awselb.DescribeTagsInput{ResourceArns: []string{arn}})
	if err != nil {
		return false
	}
	for _, d := range out.TagDescriptions {
		for _, t := range d.Tags {
			if aws.ToString(t.Key) == tagKey {
				return true
			}
		}
	}
	return false
}

func (s *site) leftoverNamespaces(ctx context.Context) (all []leftover, err error) {
	for pages := awssd.NewListNamespacesPaginator(s.sd, &awssd.ListNamespacesInput{}); pages.HasMorePages(); {
		out, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, n := range out.Namespaces {
			name := aws.ToString(n.Name)
			if !strings.HasPrefix(name, namePrefix) {
				continue
			}
			tags, err := s.sd.ListTagsForResource(ctx, &awssd.ListTagsForResourceInput{ResourceARN: n.Arn})
			if err != nil {
				return nil, err
			}
			for _, t := range tags.Tags {
				if aws.ToString(t.Key) == tagKey {
					all = append(all, leftover{"namespace " + name,
						func(ctx context.Context) error { return s.removeNamespace(ctx, name) }})
				}
			}
		}
	}
	return all, nil
}

func (s *site) leftoverDeploy(ctx context.Context) (all []leftover, err error) {
	apps, err := s.cd.ListApplications(ctx, &awscd.ListApplicationsInput{})
	if err != nil {
		return nil, err
	}
	for _, name := range apps.Applications {
		if strings.HasPrefix(name, namePrefix) {
			all = append(all, leftover{"application " + name, func(ctx context.Context) error {
				_, err := s.cd.DeleteApplication(ctx, &awscd.DeleteApplicationInput{ApplicationName: &name})
				return err
			}})
		}
	}
	configs, err := s.cd.ListDeploymentConfigs(ctx, &awscd.ListDeploymentConfigsInput{})
	if err != nil {
		return nil, err
	}
	for _, name := range configs.DeploymentConfigsList {
		if strings.HasPrefix(name, namePrefix) {
			all = append(all, leftover{"deployment configuration " + name, func(ctx context.Context) error {
				_, err := s.cd.DeleteDeploymentConfig(ctx,
					&awscd.DeleteDeploymentConfigInput{DeploymentConfigName: &name})
				return err
			}})
		}
	}
	return all, nil
}

func (s *site) leftoverScaling(ctx context.Context) (all []leftover, err error) {
	for pages := awsaas.NewDescribeScalableTargetsPaginator(s.aas,
		&awsaas.DescribeScalableTargetsInput{ServiceNamespace: "ecs"}); pages.HasMorePages(); {
		out, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, t := range out.ScalableTargets {
			if id := aws.ToString(t.ResourceId); strings.HasPrefix(id, "service/"+namePrefix) {
				all = append(all, leftover{"scalable target " + id,
					func(ctx context.Context) error { return s.removeTarget(ctx, id) }})
			}
		}
	}
	return all, nil
}

func (s *site) removeTarget(ctx context.Context, id string) error {
	_, err := s.aas.DeregisterScalableTarget(ctx, &awsaas.DeregisterScalableTargetInput{ServiceNamespace: "ecs",
		ResourceId: &id, ScalableDimension: "ecs:service:DesiredCount"})
	return err
}

func (s *site) leftoverAlarms(ctx context.Context) (all []leftover, err error) {
	out, err := s.cw.DescribeAlarms(ctx, &awscw.DescribeAlarmsInput{AlarmNamePrefix: ptr(namePrefix)})
	if err != nil {
		return nil, err
	}
	for _, a := range out.MetricAlarms {
		name := aws.ToString(a.AlarmName)
		all = append(all, leftover{"alarm " + name,
			func(ctx context.Context) error { return s.removeAlarm(ctx, name) }})
	}
	return all, nil
}

// removeAlarm deletes an alarm, if there is one.
func (s *site) removeAlarm(ctx context.Context, name string) error {
	out, err := s.cw.DescribeAlarms(ctx, &awscw.DescribeAlarmsInput{AlarmNames: []string{name}})
	if err != nil || len(out.MetricAlarms) == 0 {
		return err
	}
	_, err = s.cw.DeleteAlarms(ctx, &awscw.DeleteAlarmsInput{AlarmNames: []string{name}})
	return err
}

func (s *site) leftoverLogs(ctx context.Context) (all []leftover, err error) {
	out, err := s.logs.DescribeLogGroups(ctx, &awslogs.DescribeLogGroupsInput{LogGroupNamePrefix: ptr(namePrefix)})
	if err != nil {
		return nil, err
	}
	for _, g := range out.LogGroups {
		name := aws.ToString(g.LogGroupName)
		all = append(all, leftover{"log group " + name, func(ctx context.Context) error {
			_, err := s.logs.DeleteLogGroup(ctx, &awslogs.DeleteLogGroupInput{LogGroupName: &name})
			return err
		}})
	}
	return all, nil
}
