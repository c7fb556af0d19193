package cloudwatch

import (
	"fmt"

	awscw "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
)

// checkAlarm refuses an alarm that AWS refuses.
func checkAlarm(in *awscw.PutMetricAlarmInput) error {
	if in.EvaluationCriteria != nil {
		return notSimulated("EvaluationCriteria")
	}
	err := firstOf(
		checkLength(in.AlarmName, "alarmName", 255),
		oneOf(in.ComparisonOperator, "comparisonOperator", in.ComparisonOperator.Values()),
		atLeastOne(in.EvaluationPeriods, "evaluationPeriods"),
		ifGiven(in.Unit, "unit", in.Unit.Values()), ifGiven(in.Statistic, "statistic", in.Statistic.Values()),
		checkMissingData(in.TreatMissingData), checkTags(in.Tags),
	)
	if err != nil {
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

func atLeastOne(n *int32, member string) error {
	switch {
	case n == nil:
		return constraintViolation(nil, member, "Member must not be null")
	case *n < 1:
		return constraintViolation(*n, member, "Member must have value greater than or equal to 1")
	}
	return nil
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
	return checkDimensions(in.Dimensions)
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

func checkDimensions(dims []cwtypes.Dimension) error {
	if len(dims) > 30 {
		return constraintViolation(len(dims), "dimensions", "Member must have length less than or equal to 30")
	}
	for _, d := range dims {
		if err := firstOf(checkLength(d.Name, "dimensions.member.name", 255),
			checkLength(d.Value, "dimensions.member.value", 1024)); err != nil {
			return err
		}
	}
	return nil
}

func checkNames(names []string) error {
	if names == nil {
		return constraintViolation(nil, "alarmNames", "Member must not be null")
	}
	if len(names) > maxBatch {
		return constraintViolation(len(names), "alarmNames",
			fmt.Sprintf("Member must have length less than or equal to %d", maxBatch))
	}
	return nil
}

func checkTags(tags []cwtypes.Tag) error {
	if len(tags) > maxTags {
		return validationError("The number of tags exceeds the maximum of %d", maxTags)
	}
	for _, t := range tags {
		if err := checkLength(t.Key, "tags.member.key", 128); err != nil {
			return err
		}
		if t.Value == nil {
			return constraintViolation(nil, "tags.member.value", "Member must not be null")
		}
	}
	return nil
}
