// Package applicationautoscaling is the room of Application Auto Scaling, as far
// as reading: nothing is autoscaled in this world, so that every list is empty
// once its question has been checked. Writes are answered as unknown operations.
//
// Start reading at [Service.DescribeScalableTargets], then question in check.go.
package applicationautoscaling

import (
	"context"

	awsaas "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling"
	aastypes "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling/types"
	smithy "github.com/aws/smithy-go"

	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// Service is the room.
type Service struct{}

// New makes the room.
func New(*world.World) *Service { return &Service{} }

// Room is the room with what wire must know of Application Auto Scaling.
func Room(w *world.World) wire.Room {
	return wire.Room{
		Name: "application-autoscaling", ServiceID: "Application Auto Scaling", Protocol: wire.JSON11,
		Target: "AnyScaleFrontendService", Operations: New(w).operations(),
		Known: []string{"DeleteScalingPolicy", "DeleteScheduledAction", "DeregisterScalableTarget", "GetPredictiveScalingForecast",
			"ListTagsForResource", "PutScalingPolicy", "PutScheduledAction", "RegisterScalableTarget", "TagResource", "UntagResource"},
		Errors: []smithy.APIError{&aastypes.ConcurrentUpdateException{}, &aastypes.FailedResourceAccessException{},
			&aastypes.InternalServiceException{}, &aastypes.InvalidNextTokenException{}, &aastypes.LimitExceededException{},
			&aastypes.ObjectNotFoundException{}, &aastypes.ResourceNotFoundException{}, &aastypes.TooManyTagsException{},
			&aastypes.ValidationException{}},
	}
}

// DescribeScalableTargets answers that nothing is autoscaled.
func (*Service) DescribeScalableTargets(_ context.Context, in *awsaas.DescribeScalableTargetsInput) (*awsaas.DescribeScalableTargetsOutput, error) {
	q := question{namespace: in.ServiceNamespace, dimension: in.ScalableDimension, resources: in.ResourceIds,
		many: "resourceIds", max: in.MaxResults, token: in.NextToken}
	if err := q.check(); err != nil {
		return nil, err
	}
	return &awsaas.DescribeScalableTargetsOutput{ScalableTargets: []aastypes.ScalableTarget{}}, nil
}

// DescribeScalingPolicies answers that there is none.
func (*Service) DescribeScalingPolicies(_ context.Context, in *awsaas.DescribeScalingPoliciesInput) (*awsaas.DescribeScalingPoliciesOutput, error) {
	q := question{namespace: in.ServiceNamespace, dimension: in.ScalableDimension, resource: in.ResourceId,
		max: in.MaxResults, token: in.NextToken}
	if err := q.check(); err != nil {
		return nil, err
	}
	return &awsaas.DescribeScalingPoliciesOutput{ScalingPolicies: []aastypes.ScalingPolicy{}}, nil
}

// DescribeScalingActivities answers that there was none.
func (*Service) DescribeScalingActivities(_ context.Context, in *awsaas.DescribeScalingActivitiesInput) (*awsaas.DescribeScalingActivitiesOutput, error) {
	q := question{namespace: in.ServiceNamespace, dimension: in.ScalableDimension, resource: in.ResourceId,
		max: in.MaxResults, token: in.NextToken}
	if err := q.check(); err != nil {
		return nil, err
	}
	return &awsaas.DescribeScalingActivitiesOutput{ScalingActivities: []aastypes.ScalingActivity{}}, nil
}

// DescribeScheduledActions answers that there is none.
func (*Service) DescribeScheduledActions(_ context.Context, in *awsaas.DescribeScheduledActionsInput) (*awsaas.DescribeScheduledActionsOutput, error) {
	q := question{namespace: in.ServiceNamespace, dimension: in.ScalableDimension, resource: in.ResourceId,
		max: in.MaxResults, token: in.NextToken}
	if err := q.check(); err != nil {
		return nil, err
	}
	return &awsaas.DescribeScheduledActionsOutput{ScheduledActions: []aastypes.ScheduledAction{}}, nil
}
