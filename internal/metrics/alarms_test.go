package metrics

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscw "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/sluice-ecs/sluice"
)

// Alarms are returned in the order of their names, however many there are. A missing one is named.
func TestReadAlarms(t *testing.T) {
	runShared(t, 0, func(b *sharedBench) {
		api := awscw.NewFromConfig(b.sim.Config())
		var names []string
		for i := range 120 {
			names = append(names, fmt.Sprintf("alarm-%d", i))
			if _, err := api.PutMetricAlarm(t.Context(), &awscw.PutMetricAlarmInput{AlarmName: &names[i],
				Namespace: aws.String("Shop"), MetricName: aws.String("Orders"), Statistic: cwtypes.StatisticSum,
				Period: aws.Int32(60), EvaluationPeriods: aws.Int32(1), Threshold: aws.Float64(1),
				ComparisonOperator: cwtypes.ComparisonOperatorGreaterThanThreshold}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := api.SetAlarmState(t.Context(), &awscw.SetAlarmStateInput{AlarmName: &names[7],
			StateValue: cwtypes.StateValueAlarm, StateReason: aws.String("too few orders")}); err != nil {
			t.Fatal(err)
		}
		all, err := ReadAlarms(t.Context(), api, names)
		if err != nil || len(all) != 120 {
			t.Fatalf("%d alarms, %v", len(all), err)
		}
		for i, a := range all {
			if a.Name != names[i] || a.IsFiring() != (i == 7) || a.Since.IsZero() {
				t.Errorf("%d: %+v", i, a)
			}
		}
		if all[7].Reason != "too few orders" || all[8].State != "INSUFFICIENT_DATA" {
			t.Errorf("%+v, %+v", all[7], all[8])
		}
		_, err = ReadAlarms(t.Context(), api, []string{"alarm-3", "gone", "alarm-4", "also gone"})
		var whole *sluice.Error
		if !errors.As(err, &whole) || whole.Kind != sluice.NotFound || whole.Resource != "gone, also gone" ||
			!strings.Contains(err.Error(), "2 of 4 alarms do not exist") {
			t.Error(err)
		}
	})
}
