package applicationautoscaling

import (
	"context"
	"strings"

	awsaas "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling"
	aastypes "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling/types"

	"github.com/sluice-ecs/sluice/awssim/autoscaler"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// DescribeScalingActivities lists the scaling activities, newest first. An attempt without effect
// creates no activity.
func (s *Service) DescribeScalingActivities(ctx context.Context,
	in *awsaas.DescribeScalingActivitiesInput) (*awsaas.DescribeScalingActivitiesOutput, error) {
	q := describeQuery{namespace: in.ServiceNamespace, dimension: in.ScalableDimension, resource: in.ResourceId,
		max: in.MaxResults}
	if err := q.checkQuery(); err != nil {
		return nil, err
	}
	return runStep(ctx, s, func(tx *world.Tx) (*awsaas.DescribeScalingActivitiesOutput, error) {
		all := []aastypes.ScalingActivity{}
		for _, a := range autoscaler.StateOf(tx).Activities {
			if q.namespace == aastypes.ServiceNamespaceEcs && q.isAbout(a.Target) {
				all = append(all, showActivity(a))
			}
		}
		page, next, err := pageOf(all, in.NextToken, in.MaxResults,
			func(a aastypes.ScalingActivity) string { return *a.ActivityId })
		return &awsaas.DescribeScalingActivitiesOutput{ScalingActivities: page, NextToken: next}, err
	})
}

func showActivity(a *autoscaler.Activity) aastypes.ScalingActivity {
	return aastypes.ScalingActivity{
		ActivityId: ptr(a.ID), Cause: ptr(a.Cause), Description: ptr(a.Description),
		ResourceId: ptr("service/" + a.Target), ScalableDimension: serviceCount,
		ServiceNamespace: aastypes.ServiceNamespaceEcs, StartTime: ptr(a.At), EndTime: ptr(a.At),
		StatusCode: aastypes.ScalingActivityStatusCodeSuccessful,
		StatusMessage: ptr("Successfully " + strings.TrimSuffix(strings.Replace(a.Description, "Setting", "set", 1),
			".") + ". Change successfully fulfilled by ecs."),
	}
}
