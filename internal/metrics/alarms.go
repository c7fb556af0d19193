package metrics

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscw "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/sluice-ecs/sluice"
)

// maxAlarmNames is how many alarms CloudWatch describes in one call by name (API reference,
// DescribeAlarms).
const maxAlarmNames = 100

// Alarm is the state of a metric alarm or of a composite alarm.
type Alarm struct {
	Name   string
	State  string    // OK, ALARM or INSUFFICIENT_DATA
	Since  time.Time // when it got the state
	Reason string    // CloudWatch's reason, for users
}

// IsFiring reports whether the alarm is in state ALARM.
func (a Alarm) IsFiring() bool { return a.State == string(cwtypes.StateValueAlarm) }

// HasData reports whether CloudWatch has judged the alarm's metric. Without data, its state says nothing about callers.
func (a Alarm) HasData() bool { return a.State != string(cwtypes.StateValueInsufficientData) }

// ReadAlarms returns the alarms with these names, in their order. It is an error if one does not
// exist: an alarm that was deleted protects nothing.
func ReadAlarms(ctx context.Context, api *awscw.Client, names []string) ([]Alarm, error) {
	byName := map[string]Alarm{}
	for part := range slices.Chunk(names, maxAlarmNames) {
		if err := describeAlarms(ctx, api, part, byName); err != nil {
			return nil, fmt.Errorf("read alarms: %w", sluice.Inner(err))
		}
	}
	out := make([]Alarm, 0, len(names))
	var missing []string
	for _, name := range names {
		a, ok := byName[name]
		if !ok {
			missing = append(missing, name)
		}
		out = append(out, a)
	}
	if len(missing) > 0 {
		return nil, &sluice.Error{Op: "read alarms", Resource: strings.Join(missing, ", "), Kind: sluice.NotFound,
			Err:  fmt.Errorf("%d of %d alarms do not exist in this account and Region", len(missing), len(names)),
			Next: "correct the names: aws cloudwatch describe-alarms --query 'MetricAlarms[].AlarmName'"}
	}
	return out, nil
}

// ListAlarms returns the names of all alarms.
func ListAlarms(ctx context.Context, api *awscw.Client) ([]string, error) {
	byName := map[string]Alarm{}
	err := describeAlarms(ctx, api, nil, byName)
	return slices.Sorted(maps.Keys(byName)), err
}

// describeAlarms adds the alarms with these names, or all.
func describeAlarms(ctx context.Context, api *awscw.Client, names []string, byName map[string]Alarm) error {
	in := &awscw.DescribeAlarmsInput{AlarmNames: names,
		AlarmTypes: []cwtypes.AlarmType{cwtypes.AlarmTypeMetricAlarm, cwtypes.AlarmTypeCompositeAlarm}}
	for {
		page, err := api.DescribeAlarms(ctx, in)
		if err != nil {
			return err
		}
		for _, a := range page.MetricAlarms {
			byName[aws.ToString(a.AlarmName)] = newAlarm(a.AlarmName, a.StateValue, a.StateReason,
				a.StateTransitionedTimestamp)
		}
		for _, a := range page.CompositeAlarms {
			byName[aws.ToString(a.AlarmName)] = newAlarm(a.AlarmName, a.StateValue, a.StateReason,
				a.StateTransitionedTimestamp)
		}
		if in.NextToken = page.NextToken; aws.ToString(in.NextToken) == "" {
			return nil
		}
	}
}

func newAlarm(name *string, state cwtypes.StateValue, reason *string, since *time.Time) Alarm {
	return Alarm{Name: aws.ToString(name), State: string(state), Reason: aws.ToString(reason),
		Since: aws.ToTime(since)}
}
