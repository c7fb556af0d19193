package cloudwatch

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	awscw "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

const (
	maxBatch  = 100 // alarms in one call
	maxAlarms = 5000
	maxTags   = 50
)

// alarmDoc holds the data of an alarm that no controller reads.
type alarmDoc struct {
	alarm cwtypes.MetricAlarm // without name, state and times
	at    time.Time           // of the last change of its configuration
	tags  map[string]string
}

func docOf(a *world.Alarm) *alarmDoc {
	if d, ok := a.Doc.(*alarmDoc); ok {
		return d
	}
	// a controller or a test created it
	return &alarmDoc{at: a.StateUpdated, alarm: cwtypes.MetricAlarm{ActionsEnabled: ptr(true)}}
}

// PutMetricAlarm creates an alarm in the state INSUFFICIENT_DATA, or replaces an alarm's
// configuration. A replaced alarm keeps its state and tags.
func (s *Service) PutMetricAlarm(ctx context.Context, in *awscw.PutMetricAlarmInput) (*awscw.PutMetricAlarmOutput,
	error) {
	if err := checkAlarm(in); err != nil {
		return nil, err
	}
	return runStep(ctx, s, func(tx *world.Tx) (*awscw.PutMetricAlarmOutput, error) {
		a, there := tx.Alarms.Get(*in.AlarmName)
		if !there {
			if tx.Alarms.Len() >= maxAlarms {
				return nil, world.Refuse("LimitExceededFault", "Maximum number of alarms reached")
			}
			a = &world.Alarm{Name: *in.AlarmName}
		}
		d := &alarmDoc{alarm: wire.Clone(shapeOf(in)), at: tx.Now(), tags: tagsOf(in.Tags)}
		if there {
			d.tags = docOf(a).tags
		}
		a.Doc, a.Period = d, time.Duration(val(in.Period))*time.Second
		a.EvaluationPeriods = int(val(in.EvaluationPeriods))
		if !there {
			tx.AddAlarm(a)
			tx.NoteAlarm(a.Name, "ConfigurationUpdate", "Alarm \""+a.Name+"\" created", "")
			evaluateLater(tx, a)
			return nil, nil
		}
		tx.NoteAlarm(a.Name, "ConfigurationUpdate", "Alarm \""+a.Name+"\" updated", "")
		tx.Changed(world.AlarmChanged, a)
		return nil, nil
	})
}

// shapeOf returns the configuration as AWS describes it afterwards.
func shapeOf(in *awscw.PutMetricAlarmInput) cwtypes.MetricAlarm {
	enabled := in.ActionsEnabled == nil || *in.ActionsEnabled
	return cwtypes.MetricAlarm{
		ActionConfiguration: in.ActionConfiguration, ActionsEnabled: &enabled, AlarmActions: orEmpty(in.AlarmActions),
		AlarmDescription: in.AlarmDescription, ComparisonOperator: in.ComparisonOperator,
		DatapointsToAlarm:                in.DatapointsToAlarm,
		Dimensions:                       orEmpty(in.Dimensions),
		EvaluateLowSampleCountPercentile: in.EvaluateLowSampleCountPercentile,
		EvaluationCriteria:               in.EvaluationCriteria, EvaluationInterval: in.EvaluationInterval,
		EvaluationPeriods: in.EvaluationPeriods, EvaluationWindow: in.EvaluationWindow,
		ExtendedStatistic:       in.ExtendedStatistic,
		InsufficientDataActions: orEmpty(in.InsufficientDataActions), MetricName: in.MetricName, Metrics: in.Metrics,
		Namespace: in.Namespace, OKActions: orEmpty(in.OKActions), Period: in.Period, Statistic: in.Statistic,
		Threshold: in.Threshold, ThresholdMetricId: in.ThresholdMetricId, TreatMissingData: in.TreatMissingData,
		Unit: in.Unit, WarmUpConfiguration: in.WarmUpConfiguration,
	}
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// SetAlarmState sets the state until the next evaluation.
func (s *Service) SetAlarmState(ctx context.Context, in *awscw.SetAlarmStateInput) (*awscw.SetAlarmStateOutput, error) {
	if d := val(in.StateReasonData); len(d) > 4000 || d != "" && !json.Valid([]byte(d)) {
		return nil, world.Refuse("InvalidFormatFault", "StateReasonData is not JSON of at most 4000 characters")
	}
	return runStep(ctx, s, func(tx *world.Tx) (*awscw.SetAlarmStateOutput, error) {
		a, ok := tx.Alarms.Get(*in.AlarmName)
		if !ok {
			return nil, alarmNotFound()
		}
		tx.SetAlarm(a, string(in.StateValue), *in.StateReason, val(in.StateReasonData))
		return nil, nil
	})
}

// DeleteAlarms deletes all given alarms, or none if one of them does not exist.
func (s *Service) DeleteAlarms(ctx context.Context, in *awscw.DeleteAlarmsInput) (*awscw.DeleteAlarmsOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awscw.DeleteAlarmsOutput, error) {
		gone := map[string]bool{}
		for _, name := range in.AlarmNames {
			if _, ok := tx.Alarms.Get(name); !ok {
				return nil, alarmNotFound()
			}
		}
		for _, name := range in.AlarmNames {
			if a, _ := tx.Alarms.Get(name); !gone[name] {
				tx.DeleteAlarm(a)
				tx.NoteAlarm(name, "ConfigurationUpdate", "Alarm \""+name+"\" deleted", "")
			}
			gone[name] = true
		}
		return nil, nil
	})
}

// EnableAlarmActions enables actions, which the simulator never runs. It ignores missing alarms.
func (s *Service) EnableAlarmActions(ctx context.Context,
	in *awscw.EnableAlarmActionsInput) (*awscw.EnableAlarmActionsOutput, error) {
	return nil, s.setActionsEnabled(ctx, in.AlarmNames, true)
}

// DisableAlarmActions disables actions.
func (s *Service) DisableAlarmActions(ctx context.Context,
	in *awscw.DisableAlarmActionsInput) (*awscw.DisableAlarmActionsOutput, error) {
	return nil, s.setActionsEnabled(ctx, in.AlarmNames, false)
}

func (s *Service) setActionsEnabled(ctx context.Context, names []string, enabled bool) error {
	_, err := runStep(ctx, s, func(tx *world.Tx) (struct{}, error) {
		for _, name := range names {
			a, ok := tx.Alarms.Get(name)
			if !ok {
				continue
			}
			d := *docOf(a)
			d.alarm.ActionsEnabled, d.at = &enabled, tx.Now()
			a.Doc = &d
			tx.Changed(world.AlarmChanged, a)
		}
		return struct{}{}, nil
	})
	return err
}

func tagsOf(tags []cwtypes.Tag) map[string]string {
	m := map[string]string{}
	for _, t := range tags {
		m[val(t.Key)] = val(t.Value)
	}
	return m
}

func tagList(m map[string]string) []cwtypes.Tag {
	tags := []cwtypes.Tag{}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		tags = append(tags, cwtypes.Tag{Key: ptr(k), Value: ptr(m[k])})
	}
	return tags
}
