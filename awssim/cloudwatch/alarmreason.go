package cloudwatch

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// comparisons are the words for the operators in reasons.
var comparisons = map[cwtypes.ComparisonOperator]string{
	cwtypes.ComparisonOperatorGreaterThanThreshold:          "greater than",
	cwtypes.ComparisonOperatorGreaterThanOrEqualToThreshold: "greater than or equal to",
	cwtypes.ComparisonOperatorLessThanThreshold:             "less than",
	cwtypes.ComparisonOperatorLessThanOrEqualToThreshold:    "less than or equal to",
}

// reason returns the text of a new state, in AWS's words.
func (e *evaluation) reason(state string) string {
	present, missing := e.present(), e.countMissing()
	switch {
	case state == world.AlarmInsufficient:
		return "Insufficient Data: " + pluralOf(missing, "datapoint was", "datapoints were") + " unknown."
	case len(present) == 0:
		return fmt.Sprintf("Threshold Crossed: no datapoints were received for %s and %s.",
			pluralOf(missing, "period", "periods"), e.missingText(missing))
	}
	shown := slices.DeleteFunc(slices.Clone(present), func(p datapoint) bool {
		return e.isBreaching(p) != (state == world.AlarmRaised)
	})
	slices.Reverse(shown)
	was := "were"
	if len(shown) == 1 {
		was = "was"
	}
	not, least, transition := "", e.needed, "OK -> ALARM"
	if state == world.AlarmOK {
		not, least, transition = "not ", int(*e.alarm.EvaluationPeriods)-e.needed+1, "ALARM -> OK"
	}
	text := fmt.Sprintf("Threshold Crossed: %d out of the last %d datapoints [%s] %s %s%s the threshold (%s)", len(shown),
		len(present), datapointTexts(shown), was, not, comparisons[e.alarm.ComparisonOperator],
		decimal(*e.alarm.Threshold))
	if treated := val(e.alarm.TreatMissingData); missing > 0 && (treated == "breaching" || treated == "notBreaching") {
		text += " and " + e.missingText(missing)
	}
	return text + fmt.Sprintf(" (minimum %s for %s transition).", pluralOf(least, "datapoint", "datapoints"), transition)
}

func (e *evaluation) missingText(n int) string {
	as := "NonBreaching"
	if val(e.alarm.TreatMissingData) == "breaching" {
		as = "Breaching"
	}
	return fmt.Sprintf("%s treated as [%s]", pluralOf(n, "missing datapoint was", "missing datapoints were"), as)
}

func datapointTexts(all []datapoint) string {
	texts := make([]string, 0, len(all))
	for _, p := range all {
		texts = append(texts, fmt.Sprintf("%s (%s)", decimal(p.value), p.at.Format("02/01/06 15:04:05")))
	}
	return strings.Join(texts, ", ")
}

func pluralOf(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", many)
}

// decimal writes a number with at least one digit after the point.
func decimal(v float64) string {
	s := strconv.FormatFloat(v, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

const alarmTime = "2006-01-02T15:04:05.000-0700"

// reasonData returns the StateReasonData of the evaluation.
func (e *evaluation) reasonData(now time.Time) string {
	data := map[string]any{"version": "1.0", "queryDate": now.Format(alarmTime), "period": *e.alarm.Period,
		"statistic": string(e.alarm.Statistic) + val(e.alarm.ExtendedStatistic), "threshold": *e.alarm.Threshold}
	values, evaluated := []float64{}, []map[string]any{}
	for i, p := range e.present() {
		if i == 0 {
			data["startDate"] = p.at.Format(alarmTime)
		}
		values = append(values, p.value)
		evaluated = append(evaluated, map[string]any{"timestamp": p.at.Format(alarmTime), "value": p.value})
	}
	slices.Reverse(evaluated)
	data["recentDatapoints"], data["evaluatedDatapoints"] = values, evaluated
	if e.alarm.Unit != "" {
		data["unit"] = e.alarm.Unit
	}
	text, _ := json.Marshal(data) // cannot fail: finite numbers and texts
	return string(text)
}
