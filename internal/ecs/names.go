package ecs

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
)

// ListNames returns the names of the services of the cluster.
func (s Service) ListNames(ctx context.Context) (all []string, err error) {
	in := &awsecs.ListServicesInput{Cluster: aws.String(s.Cluster), MaxResults: aws.Int32(100)}
	for {
		out, err := s.API.ListServices(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("list services of %s: %w", s.Cluster, sluice.Inner(err))
		}
		for _, arn := range out.ServiceArns {
			all = append(all, sluice.ARNName(arn))
		}
		if in.NextToken = out.NextToken; aws.ToString(in.NextToken) == "" {
			return all, nil
		}
	}
}

// IsClusterMissing reports whether a call failed because the cluster does not exist.
func IsClusterMissing(err error) bool {
	var missing *ecstypes.ClusterNotFoundException
	return errors.As(err, &missing)
}

// IsServiceMissing reports whether a call failed because the service does not exist, or is deleted.
func IsServiceMissing(err error) bool {
	var missing *ecstypes.ServiceNotFoundException
	var deleted *ecstypes.ServiceNotActiveException
	return errors.As(err, &missing) || errors.As(err, &deleted)
}

// TaskOwners returns the owner of each address that a task of the cluster has: "service web", or "task 0123abcd" of no
// service. Stopping tasks count.
func (s Service) TaskOwners(ctx context.Context) (map[string]string, error) {
	owners := map[string]string{}
	for _, status := range []ecstypes.DesiredStatus{ecstypes.DesiredStatusStopped, ecstypes.DesiredStatusRunning} {
		arns, err := s.listTasks(ctx, awsecs.ListTasksInput{DesiredStatus: status})
		if err != nil {
			return nil, err
		}
		tasks, err := s.describeTasks(ctx, arns)
		if err != nil {
			return nil, err
		}
		for _, t := range tasks {
			if a := addressOf(t); a != "" {
				owners[a] = ownerOf(t)
			}
		}
	}
	return owners, nil
}

// ownerOf returns the service of a task: ECS sets the group of its tasks to "service:<name>".
func ownerOf(t ecstypes.Task) string {
	if name, ok := strings.CutPrefix(aws.ToString(t.Group), "service:"); ok {
		return "service " + name
	}
	return "task " + sluice.ARNName(aws.ToString(t.TaskArn))
}
