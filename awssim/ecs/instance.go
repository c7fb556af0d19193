package ecs

import (
	"context"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// ListContainerInstances returns an empty list: the simulator has no container instances.
func (s *Service) ListContainerInstances(ctx context.Context,
	in *awsecs.ListContainerInstancesInput) (*awsecs.ListContainerInstancesOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.ListContainerInstancesOutput, error) {
		_, err := clusterOf(tx, in.Cluster)
		return &awsecs.ListContainerInstancesOutput{ContainerInstanceArns: []string{}}, err
	})
}

// DescribeContainerInstances returns a failure for each of up to 100 ids.
func (s *Service) DescribeContainerInstances(ctx context.Context,
	in *awsecs.DescribeContainerInstancesInput) (*awsecs.DescribeContainerInstancesOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.DescribeContainerInstancesOutput, error) {
		c, err := clusterOf(tx, in.Cluster)
		switch {
		case err != nil:
			return nil, err
		case len(in.ContainerInstances) == 0:
			return nil, invalidParameter("Container instances cannot be empty.")
		case len(in.ContainerInstances) > 100:
			return nil, invalidParameter("Container instances cannot have more than 100 elements.")
		}
		return &awsecs.DescribeContainerInstancesOutput{
			ContainerInstances: []ecstypes.ContainerInstance{}, Failures: noInstances(tx, c, in.ContainerInstances),
		}, nil
	})
}

func noInstances(tx *world.Tx, c *world.Cluster, ids []string) []ecstypes.Failure {
	failures := []ecstypes.Failure{}
	for _, id := range ids {
		failures = append(failures, missingFailure(tx.ARN("ecs", "container-instance/"+c.Name+"/"+lastSegment(id))))
	}
	return failures
}
