package applicationautoscaling

import (
	"context"
	"slices"
	"strings"

	awsaas "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling"
	aastypes "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling/types"

	"github.com/sluice-ecs/sluice/awssim/autoscaler"
	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

const (
	serviceCount = aastypes.ScalableDimensionECSServiceDesiredCount
	pageSize     = 50
)

// RegisterScalableTarget creates a target or changes it. Every call moves the desired count into
// the bounds at once.
func (s *Service) RegisterScalableTarget(ctx context.Context,
	in *awsaas.RegisterScalableTargetInput) (*awsaas.RegisterScalableTargetOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsaas.RegisterScalableTargetOutput, error) {
		id, err := resourceOf(in.ServiceNamespace, in.ScalableDimension, in.ResourceId)
		if err != nil {
			return nil, err
		}
		old, ok := autoscaler.StateOf(tx).Targets.Get(id)
		t := old
		if !ok {
			t = &autoscaler.Target{ID: id, CreatedAt: tx.Now(), Doc: &targetDoc{role: roleOrDefault(tx, in.RoleARN),
				tags: map[string]string{}}}
		}
		lo, hi, err := mergedBounds(t, ok, in)
		if err != nil {
			return nil, err
		}
		if svc, there := tx.Services.Get(id); !ok && (!there || svc.Status != "ACTIVE") {
			return nil, validationError("ECS service doesn't exist: %s", *in.ResourceId)
		}
		if err := addTags(t, in.Tags); err != nil {
			return nil, err
		}
		if !ok {
			t.ARN = tx.ARN("application-autoscaling", "scalable-target/0ec5"+tx.NewHex("scalable target", 32))
			autoscaler.StateOf(tx).Targets.Put(id, t)
		}
		s.autoScaler.SetBounds(tx, t, lo, hi, mergedSuspension(t.Suspended, in.SuspendedState))
		return &awsaas.RegisterScalableTargetOutput{ScalableTargetARN: ptr(t.ARN)}, nil
	})
}

func roleOrDefault(tx *world.Tx, given *string) string {
	if val(given) != "" {
		return *given
	}
	return tx.Key.GlobalARN("iam", "role/aws-service-role/ecs.application-autoscaling.amazonaws.com/"+
		"AWSServiceRoleForApplicationAutoScaling_ECSService")
}

// mergedBounds returns the target's bounds, overridden by the given ones.
func mergedBounds(t *autoscaler.Target, there bool, in *awsaas.RegisterScalableTargetInput) (lo, hi int, err error) {
	if !there && (in.MinCapacity == nil || in.MaxCapacity == nil) {
		return 0, 0,
			validationError("The minimum and the maximum capacity must be specified for a scalable target that is " +
				"not registered yet")
	}
	lo, hi = t.Min, t.Max
	if in.MinCapacity != nil {
		lo = int(*in.MinCapacity)
	}
	if in.MaxCapacity != nil {
		hi = int(*in.MaxCapacity)
	}
	switch {
	case lo < 0 || hi < 0:
		return 0, 0, validationError("Capacities must not be negative")
	case lo > hi:
		return 0, 0, validationError("Maximum capacity cannot be less than minimum capacity")
	}
	return lo, hi, nil
}

// mergedSuspension returns the suspensions after the call. AWS does not document the effect of a
// structure on members that it leaves out: here they become false.
func mergedSuspension(old autoscaler.Suspended, in *aastypes.SuspendedState) autoscaler.Suspended {
	if in == nil {
		return old
	}
	return autoscaler.Suspended{In: val(in.DynamicScalingInSuspended), Out: val(in.DynamicScalingOutSuspended),
		Scheduled: val(in.ScheduledScalingSuspended)}
}

// DeregisterScalableTarget deletes a target with its policies and actions.
func (s *Service) DeregisterScalableTarget(ctx context.Context,
	in *awsaas.DeregisterScalableTargetInput) (*awsaas.DeregisterScalableTargetOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsaas.DeregisterScalableTargetOutput, error) {
		t, err := findTarget(tx, in.ServiceNamespace, in.ScalableDimension, in.ResourceId)
		if err != nil {
			return nil, err
		}
		s.autoScaler.RemoveTarget(tx, t)
		return &awsaas.DeregisterScalableTargetOutput{}, nil
	})
}

// findTarget returns a registered target.
func findTarget(tx *world.Tx, ns aastypes.ServiceNamespace, dim aastypes.ScalableDimension,
	resource *string) (*autoscaler.Target, error) {
	id, err := resourceOf(ns, dim, resource)
	if err != nil {
		return nil, err
	}
	t, ok := autoscaler.StateOf(tx).Targets.Get(id)
	if !ok {
		return nil,
			world.Refuse("ObjectNotFoundException",
				"No scalable target registered for service namespace: %s, resource ID: %s, scalable dimension: %s", ns,
				*resource, dim)
	}
	return t, nil
}

// DescribeScalableTargets lists targets, up to 50 per page.
func (s *Service) DescribeScalableTargets(ctx context.Context,
	in *awsaas.DescribeScalableTargetsInput) (*awsaas.DescribeScalableTargetsOutput, error) {
	q := describeQuery{namespace: in.ServiceNamespace, dimension: in.ScalableDimension, resources: in.ResourceIds,
		max: in.MaxResults}
	if err := q.checkQuery(); err != nil {
		return nil, err
	}
	return runStep(ctx, s, func(tx *world.Tx) (*awsaas.DescribeScalableTargetsOutput, error) {
		all := []aastypes.ScalableTarget{}
		for _, t := range q.matchTargets(tx) {
			all = append(all, showTarget(t))
		}
		page, next, err := pageOf(all, in.NextToken, in.MaxResults,
			func(t aastypes.ScalableTarget) string { return *t.ResourceId })
		return &awsaas.DescribeScalableTargetsOutput{ScalableTargets: page, NextToken: next}, err
	})
}

func showTarget(t *autoscaler.Target) aastypes.ScalableTarget {
	return aastypes.ScalableTarget{
		CreationTime: ptr(t.CreatedAt), MinCapacity: ptr(int32(t.Min)), MaxCapacity: ptr(int32(t.Max)),
		ResourceId: ptr("service/" + t.ID), RoleARN: ptr(docOf(t).role),
		ScalableDimension: serviceCount, ScalableTargetARN: ptr(t.ARN), ServiceNamespace: aastypes.ServiceNamespaceEcs,
		SuspendedState: &aastypes.SuspendedState{DynamicScalingInSuspended: ptr(t.Suspended.In),
			DynamicScalingOutSuspended: ptr(t.Suspended.Out),
			ScheduledScalingSuspended:  ptr(t.Suspended.Scheduled)},
	}
}

// matchTargets returns the targets that match the query.
func (q describeQuery) matchTargets(tx *world.Tx) (all []*autoscaler.Target) {
	if q.namespace != aastypes.ServiceNamespaceEcs || q.dimension != "" && q.dimension != serviceCount {
		return nil
	}
	for _, t := range autoscaler.StateOf(tx).Targets.All() {
		if q.isAbout(t.ID) {
			all = append(all, t)
		}
	}
	return all
}

func (q describeQuery) isAbout(id string) bool {
	if q.resource != nil {
		return *q.resource == "service/"+id
	}
	return len(q.resources) == 0 || slices.Contains(q.resources, "service/"+id)
}

// pageOf returns one page of a list.
func pageOf[T any](all []T, token *string, most *int32, id func(T) string) ([]T, *string, error) {
	page, next, err := wire.Page(all, token, int(val(most)), pageSize, pageSize, id)
	if err != nil {
		return nil, nil, world.Refuse("InvalidNextTokenException", "The next token supplied is invalid")
	}
	return page, next, nil
}

// resourceOf returns "<cluster>/<service>" for the key of a write call.
func resourceOf(ns aastypes.ServiceNamespace, dim aastypes.ScalableDimension, resource *string) (string, error) {
	q := describeQuery{namespace: ns, dimension: dim, resource: resource}
	if err := q.checkQuery(); err != nil {
		return "", err
	}
	if ns != aastypes.ServiceNamespaceEcs || dim != serviceCount {
		return "", validationError("%s: not simulated; there is %s", dim, serviceCount)
	}
	return strings.TrimPrefix(*resource, "service/"), nil
}

func validationError(format string, args ...any) error {
	return world.Refuse("ValidationException", format, args...)
}
