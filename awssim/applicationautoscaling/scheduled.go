package applicationautoscaling

import (
	"context"
	"slices"
	"time"

	awsaas "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling"
	aastypes "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling/types"

	"github.com/sluice-ecs/sluice/awssim/autoscaler"
	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// PutScheduledAction creates a scheduled action or replaces it. at(…) and rate(…) are carried out;
// cron(…) is only stored.
func (s *Service) PutScheduledAction(ctx context.Context,
	in *awsaas.PutScheduledActionInput) (*awsaas.PutScheduledActionOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsaas.PutScheduledActionOutput, error) {
		t, err := findTarget(tx, in.ServiceNamespace, in.ScalableDimension, in.ResourceId)
		if err != nil {
			return nil, err
		}
		if in.ScalableTargetAction == nil || in.ScalableTargetAction.MinCapacity == nil &&
			in.ScalableTargetAction.MaxCapacity == nil {
			return nil, validationError("A scheduled action needs a minimum or a maximum capacity")
		}
		zone, err := time.LoadLocation(val(in.Timezone))
		if err != nil {
			return nil, validationError("Unknown time zone %s", *in.Timezone)
		}
		at, every, err := autoscaler.ReadSchedule(val(in.Schedule), zone)
		if err != nil {
			return nil, validationError("%s", err)
		}
		s.autoScaler.AddScheduled(tx, t, actionOf(tx, t, wire.Clone(in)), at, every)
		return &awsaas.PutScheduledActionOutput{}, nil
	})
}

func actionOf(tx *world.Tx, t *autoscaler.Target, in *awsaas.PutScheduledActionInput) *autoscaler.Scheduled {
	doc := &aastypes.ScheduledAction{
		CreationTime: ptr(tx.Now()), EndTime: in.EndTime, ResourceId: in.ResourceId,
		ScalableDimension:    in.ScalableDimension,
		ScalableTargetAction: in.ScalableTargetAction, Schedule: in.Schedule,
		ScheduledActionName: in.ScheduledActionName,
		ServiceNamespace:    in.ServiceNamespace, StartTime: in.StartTime, Timezone: in.Timezone,
		ScheduledActionARN: ptr(tx.ARN("autoscaling",
			"scheduledAction:"+tx.NewUUID("scheduled action")+":resource/ecs/service/"+t.ID+":scheduledActionName/"+
				*in.ScheduledActionName)),
	}
	a := &autoscaler.Scheduled{Name: *in.ScheduledActionName, Schedule: *in.Schedule, Start: val(in.StartTime),
		End: val(in.EndTime), CreatedAt: tx.Now(), Doc: doc}
	if n := in.ScalableTargetAction.MinCapacity; n != nil {
		a.Min = ptr(int(*n))
	}
	if n := in.ScalableTargetAction.MaxCapacity; n != nil {
		a.Max = ptr(int(*n))
	}
	return a
}

// DeleteScheduledAction deletes a scheduled action.
func (s *Service) DeleteScheduledAction(ctx context.Context,
	in *awsaas.DeleteScheduledActionInput) (*awsaas.DeleteScheduledActionOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsaas.DeleteScheduledActionOutput, error) {
		t, err := findTarget(tx, in.ServiceNamespace, in.ScalableDimension, in.ResourceId)
		if err != nil {
			return nil, err
		}
		a, ok := t.Scheduled.Get(val(in.ScheduledActionName))
		if !ok {
			return nil,
				world.Refuse("ObjectNotFoundException",
					"No scheduled action found for service namespace: ecs, resource ID: %s, scheduled action name: %s",
					*in.ResourceId, val(in.ScheduledActionName))
		}
		s.autoScaler.RemoveScheduled(tx, t, a)
		return &awsaas.DeleteScheduledActionOutput{}, nil
	})
}

// DescribeScheduledActions lists scheduled actions, up to 50 per page.
func (s *Service) DescribeScheduledActions(ctx context.Context,
	in *awsaas.DescribeScheduledActionsInput) (*awsaas.DescribeScheduledActionsOutput, error) {
	q := describeQuery{namespace: in.ServiceNamespace, dimension: in.ScalableDimension, resource: in.ResourceId,
		max: in.MaxResults}
	if err := q.checkQuery(); err != nil {
		return nil, err
	}
	return runStep(ctx, s, func(tx *world.Tx) (*awsaas.DescribeScheduledActionsOutput, error) {
		all := []aastypes.ScheduledAction{}
		for _, t := range q.matchTargets(tx) {
			for _, a := range t.Scheduled.All() {
				if len(in.ScheduledActionNames) == 0 || slices.Contains(in.ScheduledActionNames, a.Name) {
					all = append(all, wire.Clone(*a.Doc.(*aastypes.ScheduledAction)))
				}
			}
		}
		page, next, err := pageOf(all, in.NextToken, in.MaxResults,
			func(a aastypes.ScheduledAction) string { return *a.ScheduledActionARN })
		return &awsaas.DescribeScheduledActionsOutput{ScheduledActions: page, NextToken: next}, err
	})
}
