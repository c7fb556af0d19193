package cloudwatch

import (
	"fmt"

	awscw "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/sluice-ecs/sluice/awssim/wire"
)

// checkAlarm refuses an alarm that AWS refuses.
func checkAlarm(in *awscw.PutMetricAlarmInput) error {
	if in.EvaluationCriteria != nil {
		return notSimulated("EvaluationCriteria")
	}
	if err := firstOf(checkMissingData(in.TreatMissingData), checkTags(in.Tags)); err != nil {
		return err
	}
	if n := in.DatapointsToAlarm; n != nil && (*n < 1 || *n > *in.EvaluationPeriods) {
		return validationError("The parameter DatapointsToAlarm must be between 1 and EvaluationPeriods")
	}
	switch {
	case in.Threshold == nil && in.ThresholdMetricId == nil:
		return missingParameter("The parameter Threshold is required")
	case in.Threshold != nil && in.ThresholdMetricId != nil:
		return badCombination("The parameters Threshold and ThresholdMetricId must not be used together")
	case len(in.Metrics) > 0:
		return checkMath(in)
	}
	return checkMetric(in)
}

func checkMissingData(treat *string) error {
	switch val(treat) {
	case "breaching", "notBreaching", "ignore", "missing":
		return nil
	case "":
		if treat == nil {
			return nil
		}
	}
	return validationError(
		"TreatMissingData was set to an invalid value. Valid values: breaching, notBreaching, ignore, missing")
}

// checkMath checks an alarm over metric math, which is stored and never evaluated.
func checkMath(in *awscw.PutMetricAlarmInput) error {
	if in.MetricName != nil || in.Namespace != nil || in.Period != nil || in.Statistic != "" ||
		in.ExtendedStatistic != nil || len(in.Dimensions) > 0 {
		return badCombination("The parameters MetricName, Namespace, Dimensions, Period, Unit, Statistic and " +
			"ExtendedStatistic must not be used with Metrics")
	}
	returned := 0
	for _, q := range in.Metrics {
		if q.Id == nil {
			return missingParameter("The parameter Metrics.member.1.Id is required")
		}
		if q.ReturnData == nil || *q.ReturnData {
			returned++
		}
	}
	if returned != 1 && in.ThresholdMetricId == nil {
		return validationError("Exactly one element of the metrics list should return data.")
	}
	return nil
}

func checkMetric(in *awscw.PutMetricAlarmInput) error {
	switch {
	case in.MetricName == nil || in.Namespace == nil:
		return missingParameter("The parameters MetricName and Namespace are required, or Metrics")
	case in.Statistic == "" && in.ExtendedStatistic == nil:
		return missingParameter("Either the parameter Statistic or ExtendedStatistic must be specified.")
	case in.Statistic != "" && in.ExtendedStatistic != nil:
		return badCombination("The parameters Statistic and ExtendedStatistic must not be used together")
	case in.Period == nil:
		return missingParameter("The parameter Period is required")
	}
	if _, ok := parseExtended(val(in.ExtendedStatistic)); !ok && in.ExtendedStatistic != nil {
		return validationError("The value %s for parameter ExtendedStatistic is not a valid statistic.",
			*in.ExtendedStatistic)
	}
	if err := checkPeriod(*in.Period, "Period"); err != nil {
		return err
	}
	most := 86_400
	if *in.Period >= 3600 {
		most *= 7
	}
	if int(*in.Period)*int(*in.EvaluationPeriods) > most {
		return validationError("Metrics cannot be checked across more than %s (EvaluationPeriods * Period must be "+
			"<= %d).", daysText(most), most)
	}
	return nil
}

func daysText(seconds int) string {
	if seconds == 86_400 {
		return "a day"
	}
	return fmt.Sprintf("%d days", seconds/86_400)
}

// checkPeriod accepts 10, 20, 30 and multiples of 60 seconds.
func checkPeriod(p int32, member string) error {
	if p == 10 || p == 20 || p == 30 || p > 0 && p%60 == 0 {
		return nil
	}
	return validationError("The parameter %s must be 10, 20, 30 or a multiple of 60", member)
}

func checkTags(tags []cwtypes.Tag) error {
	if len(tags) > maxTags {
		return validationError("The number of tags exceeds the maximum of %d", maxTags)
	}
	return nil
}

// constraints returns the constraints of the service's model.
func constraints() map[string]wire.Constraint {
	required, name := wire.Constraint{Required: true}, wire.Constraint{Required: true, Length: []int{1, 255}}
	names := wire.Constraint{Required: true, Length: []int{0, maxBatch}}
	page, dimensions := wire.Constraint{Value: []int{1, maxBatch}}, wire.Constraint{Length: []int{0, 30}}
	arn := wire.Constraint{Required: true, Length: []int{1, 1024}}
	return map[string]wire.Constraint{
		"PutMetricAlarmInput.AlarmName":          name,
		"PutMetricAlarmInput.ComparisonOperator": required,
		"PutMetricAlarmInput.EvaluationPeriods":  {Required: true, Value: []int{1}},
		"PutMetricAlarmInput.Dimensions":         dimensions,
		"SetAlarmStateInput.AlarmName":           name,
		"SetAlarmStateInput.StateReason":         {Required: true, Length: []int{0, 1023}},
		"SetAlarmStateInput.StateValue":          required,
		"DeleteAlarmsInput.AlarmNames":           names,
		"EnableAlarmActionsInput.AlarmNames":     names,
		"DisableAlarmActionsInput.AlarmNames":    names,
		"DescribeAlarmsInput.AlarmNames":         {Length: []int{0, maxBatch}},
		"DescribeAlarmsInput.MaxRecords":         page,
		"DescribeAlarmHistoryInput.MaxRecords":   page,
		"GetMetricDataInput.MaxDatapoints":       {Value: []int{1}},
		"PutMetricDataInput.Namespace":           name,
		"MetricDatum.MetricName":                 name,
		"MetricDatum.Dimensions":                 dimensions,
		"Metric.Dimensions":                      dimensions,
		"GetMetricStatisticsInput.Namespace":     name,
		"GetMetricStatisticsInput.MetricName":    name,
		"GetMetricStatisticsInput.Dimensions":    dimensions,
		"Dimension.Name":                         name,
		"Dimension.Value":                        {Required: true, Length: []int{1, 1024}},
		"Tag.Key":                                {Required: true, Length: []int{1, 128}},
		"Tag.Value":                              {Required: true, Length: []int{0, 256}},
		"TagResourceInput.ResourceARN":           arn,
		"UntagResourceInput.ResourceARN":         arn,
		"ListTagsForResourceInput.ResourceARN":   arn,
	}
}
