package ecs

import (
	"context"
	"slices"
	"strconv"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// ListContainerInstances lists the container instances of a cluster, 100 at a time. All of them are
// ACTIVE. Filters of the cluster query language are refused.
func (s *Service) ListContainerInstances(ctx context.Context,
	in *awsecs.ListContainerInstancesInput) (*awsecs.ListContainerInstancesOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.ListContainerInstancesOutput, error) {
		c, err := clusterOf(tx, in.Cluster)
		switch {
		case err != nil:
			return nil, err
		case val(in.Filter) != "":
			return nil, notSimulated("The cluster query language")
		}
		var arns []string
		for _, i := range c.Instances {
			if in.Status == "" || in.Status == ecstypes.ContainerInstanceStatusActive {
				arns = append(arns, i.ARN)
			}
		}
		page, next, err := pageOf(arns, in.NextToken, int(val(in.MaxResults)), 100)
		return &awsecs.ListContainerInstancesOutput{ContainerInstanceArns: page, NextToken: next}, err
	})
}

// DescribeContainerInstances returns up to 100 container instances by id or ARN.
func (s *Service) DescribeContainerInstances(ctx context.Context,
	in *awsecs.DescribeContainerInstancesInput) (*awsecs.DescribeContainerInstancesOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.DescribeContainerInstancesOutput, error) {
		c, err := clusterOf(tx, in.Cluster)
		switch {
		case err != nil:
			return nil, err
		case len(in.ContainerInstances) == 0:
			return nil, invalidParameter("Container instance cannot be empty.")
		case len(in.ContainerInstances) > 100:
			return nil, invalidParameter("Container instances cannot have more than 100 elements.")
		}
		out := &awsecs.DescribeContainerInstancesOutput{ContainerInstances: []ecstypes.ContainerInstance{},
			Failures: []ecstypes.Failure{}}
		for _, id := range in.ContainerInstances {
			if i := instanceIn(c, id); i != nil {
				out.ContainerInstances = append(out.ContainerInstances, showInstance(tx, i, hasItem(in.Include, "TAGS")))
				continue
			}
			out.Failures = append(out.Failures, missingInstance(tx, c, id))
		}
		return out, nil
	})
}

func instanceIn(c *world.Cluster, id string) *world.ContainerInstance {
	for _, i := range c.Instances {
		if i.ARN == id || !isARN(id) && lastSegment(i.ARN) == id {
			return i
		}
	}
	return nil
}

func missingInstance(tx *world.Tx, c *world.Cluster, id string) ecstypes.Failure {
	return missingFailure(tx.ARN("ecs", "container-instance/"+c.Name+"/"+lastSegment(id)))
}

// unlimited is the size that is shown of an instance without limit: that of an m5.large. Its tasks do
// not use it up.
var unlimited = world.Size{CPU: 2048, Memory: 7680}

// showInstance returns an instance in AWS's form.
func showInstance(tx *world.Tx, i *world.ContainerInstance, tags bool) ecstypes.ContainerInstance {
	size, free := i.Size, i.Free()
	if size.IsZero() {
		size, free = unlimited, unlimited
	}
	d := ecstypes.ContainerInstance{
		ContainerInstanceArn: ptr(i.ARN), Ec2InstanceId: ptr(i.ID), Status: ptr("ACTIVE"), AgentConnected: true,
		RegisteredAt: optionalTime(i.RegisteredAt), Version: 1, Attachments: []ecstypes.Attachment{},
		Tags: []ecstypes.Tag{}, VersionInfo: &ecstypes.VersionInfo{AgentVersion: ptr("1.100.0")},
		RegisteredResources: instanceResources(size, nil), RemainingResources: instanceResources(free, reservedPorts(i)),
		CapacityProviderName: instanceProvider(tx, i.Cluster), Attributes: attributesOf(i),
	}
	if tags {
		d.Tags = shownTags(docOfInstance(i).tags)
	}
	for _, t := range i.Tasks {
		switch {
		case t.LastStatus == "RUNNING":
			d.RunningTasksCount++
		case isPending(t):
			d.PendingTasksCount++
		}
	}
	return d
}

// agentPorts are the host ports that the container agent and SSH use.
var agentPorts = []string{"22", "2375", "2376", "51678", "51679"}

func instanceResources(size world.Size, ports []string) []ecstypes.Resource {
	return []ecstypes.Resource{
		{Name: ptr("CPU"), Type: ptr("INTEGER"), IntegerValue: int32(size.CPU)},
		{Name: ptr("MEMORY"), Type: ptr("INTEGER"), IntegerValue: int32(size.Memory)},
		{Name: ptr("PORTS"), Type: ptr("STRINGSET"), StringSetValue: append(slices.Clone(agentPorts), ports...)},
		{Name: ptr("PORTS_UDP"), Type: ptr("STRINGSET"), StringSetValue: []string{}},
	}
}

// reservedPorts returns the host ports that the definitions of an instance's tasks name. Ports that
// were assigned automatically are not reserved.
func reservedPorts(i *world.ContainerInstance) (ports []string) {
	for _, t := range i.Tasks {
		if t.Definition.HasOwnAddress() {
			continue
		}
		for _, c := range t.Definition.Containers {
			for _, p := range c.Ports {
				if p.Host != 0 {
					ports = append(ports, strconv.Itoa(int(p.Host)))
				}
			}
		}
	}
	return ports
}

// instanceProvider returns the cluster's first capacity provider with an Auto Scaling group: all its
// instances belong to it.
func instanceProvider(tx *world.Tx, c *world.Cluster) *string {
	for _, name := range docOfCluster(c).CapacityProviders {
		if p, ok := providersOf(tx).Get(lastSegment(name)); ok && !p.predefined {
			return ptr(lastSegment(name))
		}
	}
	return nil
}
