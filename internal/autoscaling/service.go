package autoscaling

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsaas "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling"
	aastypes "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling/types"

	"github.com/sluice-ecs/sluice"
)

// Service is the client for the scalable targets of one ECS service.
type Service struct {
	API     *awsaas.Client
	Cluster string // name or ARN
	Name    string
}

// Resource returns the resource ID of the service in Application Auto Scaling and in plans:
// "service/<cluster>/<service>".
func (s Service) Resource() string {
	return "service/" + sluice.ARNName(s.Cluster) + "/" + sluice.ARNName(s.Name)
}

// Observe returns all scalable targets of the service, sorted by dimension. An empty result means
// that the service is not auto scaled.
func (s Service) Observe(ctx context.Context) ([]sluice.Scalable, error) {
	var all []sluice.Scalable
	in := &awsaas.DescribeScalableTargetsInput{ServiceNamespace: aastypes.ServiceNamespaceEcs,
		ResourceIds: []string{s.Resource()}}
	for {
		out, err := s.API.DescribeScalableTargets(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("read the scalable targets of %s: %w", s.Resource(), sluice.Inner(err))
		}
		for _, t := range out.ScalableTargets {
			all = append(all, newScalable(t))
		}
		if in.NextToken = out.NextToken; aws.ToString(in.NextToken) == "" {
			break
		}
	}
	slices.SortFunc(all, func(a, b sluice.Scalable) int { return strings.Compare(a.Dimension, b.Dimension) })
	return all, nil
}

func newScalable(t aastypes.ScalableTarget) sluice.Scalable {
	out := sluice.Scalable{Dimension: string(t.ScalableDimension), Min: int(aws.ToInt32(t.MinCapacity)),
		Max: int(aws.ToInt32(t.MaxCapacity))}
	if s := t.SuspendedState; s != nil {
		out.Suspended = sluice.Suspension{In: aws.ToBool(s.DynamicScalingInSuspended),
			Out:       aws.ToBool(s.DynamicScalingOutSuspended),
			Scheduled: aws.ToBool(s.ScheduledScalingSuspended)}
	}
	return out
}

// SetTarget changes a target from the observed state to the requested one.
func (s Service) SetTarget(ctx context.Context, act sluice.Act, action string, now, to sluice.Scalable) error {
	in := &awsaas.RegisterScalableTargetInput{
		ServiceNamespace: aastypes.ServiceNamespaceEcs, ResourceId: aws.String(s.Resource()),
		ScalableDimension: aastypes.ScalableDimension(to.Dimension),
		SuspendedState: &aastypes.SuspendedState{DynamicScalingInSuspended: aws.Bool(to.Suspended.In),
			DynamicScalingOutSuspended: aws.Bool(to.Suspended.Out),
			ScheduledScalingSuspended:  aws.Bool(to.Suspended.Scheduled)},
	}
	if to.Min != now.Min {
		in.MinCapacity = aws.Int32(int32(to.Min))
	}
	if to.Max != now.Max {
		in.MaxCapacity = aws.Int32(int32(to.Max))
	}
	w := sluice.Write{Operation: "application-autoscaling:RegisterScalableTarget", Resource: s.Resource()}
	return act(ctx, sluice.Attempt{Action: action, Planned: w, Actual: w}, func(ctx context.Context) (string, error) {
		_, err := s.API.RegisterScalableTarget(ctx, in)
		return fmt.Sprintf("%s: %d to %d, suspended: %s", to.Dimension, to.Min, to.Max, to.Suspended), err
	})
}
