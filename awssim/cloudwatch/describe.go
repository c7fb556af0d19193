package cloudwatch

import (
	"context"
	"slices"
	"strings"

	awscw "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// DescribeAlarms lists alarms by name. It ignores names without an alarm.
func (s *Service) DescribeAlarms(ctx context.Context, in *awscw.DescribeAlarmsInput) (*awscw.DescribeAlarmsOutput,
	error) {
	if err := checkDescribe(in); err != nil {
		return nil, err
	}
	return runStep(ctx, s, func(tx *world.Tx) (*awscw.DescribeAlarmsOutput, error) {
		out := &awscw.DescribeAlarmsOutput{MetricAlarms: []cwtypes.MetricAlarm{},
			CompositeAlarms: []cwtypes.CompositeAlarm{}}
		if len(in.AlarmTypes) > 0 && !slices.Contains(in.AlarmTypes, cwtypes.AlarmTypeMetricAlarm) {
			return out, nil
		}
		page, next, err := wire.Page(selectAlarms(tx, in), in.NextToken, int(val(in.MaxRecords)), 50, maxBatch,
			func(a *world.Alarm) string { return a.Name })
		if err != nil {
			return nil, badToken()
		}
		for _, a := range page {
			out.MetricAlarms = append(out.MetricAlarms, alarmOutput(a))
		}
		out.NextToken = next
		return out, nil
	})
}

func checkDescribe(in *awscw.DescribeAlarmsInput) error {
	switch {
	case in.ParentsOfAlarmName != nil || in.ChildrenOfAlarmName != nil:
		return notSimulated("ParentsOfAlarmName or ChildrenOfAlarmName, which are about composite alarms,")
	case len(in.AlarmNames) > 0 && in.AlarmNamePrefix != nil:
		return badCombination("AlarmNames and AlarmNamePrefix must not be used together")
	}
	return nil
}

// selectAlarms returns the requested alarms, by name.
func selectAlarms(tx *world.Tx, in *awscw.DescribeAlarmsInput) []*world.Alarm {
	var list []*world.Alarm
	for _, a := range tx.Alarms.Values() {
		switch {
		case len(in.AlarmNames) > 0 && !slices.Contains(in.AlarmNames, a.Name):
		case !strings.HasPrefix(a.Name, val(in.AlarmNamePrefix)):
		case in.StateValue != "" && string(in.StateValue) != a.State:
		case !hasAction(a, val(in.ActionPrefix)):
		default:
			list = append(list, a)
		}
	}
	slices.SortFunc(list, func(a, b *world.Alarm) int { return strings.Compare(a.Name, b.Name) })
	return list
}

func hasAction(a *world.Alarm, prefix string) bool {
	d := docOf(a).alarm
	all := slices.Concat(d.AlarmActions, d.OKActions, d.InsufficientDataActions)
	return prefix == "" || slices.ContainsFunc(all, func(x string) bool { return strings.HasPrefix(x, prefix) })
}

func alarmOutput(a *world.Alarm) cwtypes.MetricAlarm {
	d := docOf(a)
	m := wire.Clone(d.alarm)
	m.AlarmActions, m.OKActions = orEmpty(m.AlarmActions), orEmpty(m.OKActions)
	m.InsufficientDataActions, m.Dimensions = orEmpty(m.InsufficientDataActions), orEmpty(m.Dimensions)
	m.AlarmName, m.AlarmArn, m.AlarmConfigurationUpdatedTimestamp = ptr(a.Name), ptr(a.ARN), ptr(d.at)
	m.StateValue, m.StateReason = cwtypes.StateValue(a.State), ptr(a.Reason)
	m.StateUpdatedTimestamp, m.StateTransitionedTimestamp = ptr(a.StateUpdated), ptr(a.Transitioned)
	if a.ReasonData != "" {
		m.StateReasonData = ptr(a.ReasonData)
	}
	return m
}

// DescribeAlarmHistory lists changes of state and of configuration, newest first by default. It has
// no entries for actions.
func (s *Service) DescribeAlarmHistory(ctx context.Context,
	in *awscw.DescribeAlarmHistoryInput) (*awscw.DescribeAlarmHistoryOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awscw.DescribeAlarmHistoryOutput, error) {
		out := &awscw.DescribeAlarmHistoryOutput{AlarmHistoryItems: []cwtypes.AlarmHistoryItem{}}
		page, next, err := wire.Page(selectHistory(tx, in), in.NextToken, int(val(in.MaxRecords)), 100, 100, nil)
		if err != nil {
			return nil, badToken()
		}
		for _, n := range page {
			out.AlarmHistoryItems = append(out.AlarmHistoryItems, cwtypes.AlarmHistoryItem{
				AlarmName: ptr(n.Alarm), AlarmType: cwtypes.AlarmTypeMetricAlarm,
				HistoryItemType: cwtypes.HistoryItemType(n.Kind),
				HistorySummary:  ptr(n.Summary), HistoryData: ptr(n.Data), Timestamp: ptr(n.At),
			})
		}
		out.NextToken = next
		return out, nil
	})
}

func selectHistory(tx *world.Tx, in *awscw.DescribeAlarmHistoryInput) []world.AlarmNote {
	var list []world.AlarmNote
	for _, n := range tx.AlarmNotes {
		switch {
		case in.AlarmName != nil && *in.AlarmName != n.Alarm:
		case in.HistoryItemType != "" && string(in.HistoryItemType) != n.Kind:
		case in.StartDate != nil && n.At.Before(*in.StartDate), in.EndDate != nil && n.At.After(*in.EndDate):
		case len(in.AlarmTypes) > 0 && !slices.Contains(in.AlarmTypes, cwtypes.AlarmTypeMetricAlarm):
		default:
			list = append(list, n)
		}
	}
	if in.ScanBy != cwtypes.ScanByTimestampAscending {
		slices.Reverse(list)
	}
	return list
}
