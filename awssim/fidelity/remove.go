package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	awssd "github.com/aws/aws-sdk-go-v2/service/servicediscovery"
	sdtypes "github.com/aws/aws-sdk-go-v2/service/servicediscovery/types"
)

func (s *site) removeCluster(ctx context.Context, name string) error {
	list, err := s.ecs.ListServices(ctx, &awsecs.ListServicesInput{Cluster: &name})
	if err != nil {
		return err
	}
	for _, arn := range list.ServiceArns {
		if err := s.removeService(ctx, name, arn); err != nil && !isMissing(err) {
			return err
		}
	}
	_, err = s.ecs.DeleteCluster(ctx, &awsecs.DeleteClusterInput{Cluster: &name})
	return err
}

// removeService deletes a service with its task sets.
func (s *site) removeService(ctx context.Context, cluster, name string) error {
	_, err := s.ecs.DeleteService(ctx, &awsecs.DeleteServiceInput{Cluster: &cluster, Service: &name,
		Force: aws.Bool(true)})
	return err
}

func (s *site) removeDefinitions(ctx context.Context, family string) error {
	list, err := s.ecs.ListTaskDefinitions(ctx, &awsecs.ListTaskDefinitionsInput{FamilyPrefix: &family})
	if err != nil {
		return err
	}
	for _, arn := range list.TaskDefinitionArns {
		if _, err := s.ecs.DeregisterTaskDefinition(ctx,
			&awsecs.DeregisterTaskDefinitionInput{TaskDefinition: &arn}); err != nil {
			return err
		}
	}
	return nil
}

func (s *site) removeGroup(ctx context.Context, name string) error {
	out, err := s.elb.DescribeTargetGroups(ctx, &awselb.DescribeTargetGroupsInput{Names: []string{name}})
	if err != nil {
		return err
	}
	for _, g := range out.TargetGroups {
		if _, err := s.elb.DeleteTargetGroup(ctx,
			&awselb.DeleteTargetGroupInput{TargetGroupArn: g.TargetGroupArn}); err != nil {
			return err
		}
	}
	return nil
}

func (s *site) removeBalancer(ctx context.Context, name string) error {
	out, err := s.elb.DescribeLoadBalancers(ctx, &awselb.DescribeLoadBalancersInput{Names: []string{name}})
	if err != nil {
		return err
	}
	for _, b := range out.LoadBalancers {
		if _, err := s.elb.DeleteLoadBalancer(ctx,
			&awselb.DeleteLoadBalancerInput{LoadBalancerArn: b.LoadBalancerArn}); err != nil {
			return err
		}
	}
	return nil
}

// removeNamespace deletes a namespace with its services and their instances. It fails while a
// deletion is in progress, and the caller tries again.
func (s *site) removeNamespace(ctx context.Context, name string) error {
	id, err := s.findNamespaceID(ctx, name)
	if id == "" || err != nil {
		return err
	}
	list, err := s.sd.ListServices(ctx,
		&awssd.ListServicesInput{Filters: []sdtypes.ServiceFilter{{Name: "NAMESPACE_ID", Values: []string{id}}}})
	if err != nil {
		return err
	}
	for _, svc := range list.Services {
		if err := s.removeRegistry(ctx, aws.ToString(svc.Id)); err != nil && !isMissing(err) {
			return err
		}
	}
	if _, err := s.sd.DeleteNamespace(ctx, &awssd.DeleteNamespaceInput{Id: &id}); err != nil {
		return err
	}
	return fmt.Errorf("namespace %s: %w", name, errStillThere)
}

var errStillThere = errors.New("it is being deleted")

func (s *site) removeRegistry(ctx context.Context, id string) error {
	list, err := s.sd.ListInstances(ctx, &awssd.ListInstancesInput{ServiceId: &id})
	if err != nil {
		return err
	}
	for _, i := range list.Instances {
		if _, err := s.sd.DeregisterInstance(ctx, &awssd.DeregisterInstanceInput{ServiceId: &id,
			InstanceId: i.Id}); err != nil {
			return err
		}
	}
	_, err = s.sd.DeleteService(ctx, &awssd.DeleteServiceInput{Id: &id})
	return err
}

func (s *site) findNamespaceID(ctx context.Context, name string) (string, error) {
	for pages := awssd.NewListNamespacesPaginator(s.sd, &awssd.ListNamespacesInput{}); pages.HasMorePages(); {
		out, err := pages.NextPage(ctx)
		if err != nil {
			return "", err
		}
		for _, n := range out.Namespaces {
			if aws.ToString(n.Name) == name {
				return aws.ToString(n.Id), nil
			}
		}
	}
	return "", nil
}
