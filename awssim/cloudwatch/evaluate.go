package cloudwatch

import (
	"slices"
	"time"

	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// evaluateLater evaluates an alarm from now on: every minute, or every ten seconds if its period is
// shorter than a minute, each alarm at a second of its own (user guide, "Alarm evaluation").
func evaluateLater(tx *world.Tx, a *world.Alarm) {
	tx.After(tx.RandomBetween(time.Second, evaluationInterval(a), "alarm evaluation", a.Name, 0), func(tx *world.Tx) {
		evaluateAndRepeat(tx, a)
	})
}

func evaluateAndRepeat(tx *world.Tx, a *world.Alarm) {
	if a.Deleted {
		return
	}
	evaluateAlarm(tx, a)
	tx.After(evaluationInterval(a), func(tx *world.Tx) { evaluateAndRepeat(tx, a) })
}

func evaluationInterval(a *world.Alarm) time.Duration {
	if a.Period > 0 && a.Period < time.Minute {
		return 10 * time.Second
	}
	return time.Minute
}

// evaluateAlarm sets the state of an alarm by its metric, if it changes. An alarm over metric math
// keeps its state.
func evaluateAlarm(tx *world.Tx, a *world.Alarm) {
	d := docOf(a).alarm
	if d.MetricName == nil || d.Threshold == nil {
		return
	}
	e := newEvaluation(tx, &d)
	if state := e.nextState(a.State); state != a.State {
		tx.SetAlarm(a, state, e.reason(state), e.reasonData(tx.Now()))
	}
}

// evaluation is one evaluation of an alarm.
type evaluation struct {
	alarm  *cwtypes.MetricAlarm
	needed int         // datapoints to alarm
	slots  []datapoint // of the evaluation range, oldest first
}

// datapoint is the value of one period.
type datapoint struct {
	at      time.Time
	value   float64
	missing bool
}

// newEvaluation reads the values of the evaluation range, which ends with the last whole minute.
func newEvaluation(tx *world.Tx, d *cwtypes.MetricAlarm) *evaluation {
	e := &evaluation{alarm: d, needed: int(*d.EvaluationPeriods)}
	if d.DatapointsToAlarm != nil {
		e.needed = int(*d.DatapointsToAlarm)
	}
	period := time.Duration(*d.Period) * time.Second
	to := tx.Now().Truncate(min(period, time.Minute))
	n := int(*d.EvaluationPeriods) + extraPeriods(period)
	w := window{from: to.Add(-time.Duration(n) * period), to: to, period: period, unit: d.Unit, fromStart: true}
	for i := range n {
		e.slots = append(e.slots, datapoint{at: w.from.Add(time.Duration(i) * period), missing: true})
	}
	stat, _ := parseStatistic(string(d.Statistic) + val(d.ExtendedStatistic))
	all := w.valuesOf(findMetric(tx, d.Namespace, d.MetricName, d.Dimensions), stat)
	for i, at := range all.times {
		e.slots[at.Sub(w.from)/period] = datapoint{at: at, value: all.values[i]}
	}
	return e
}

// extraPeriods is how many more periods than asked for an alarm reads, in case that some are
// missing. AWS names no number; its examples have two. Metrics that arrive minutes late need more
// of short periods.
func extraPeriods(period time.Duration) int {
	if period < time.Minute {
		return 2
	}
	return max(2, int(5*time.Minute/period))
}

// present returns the values of the evaluation range, oldest first: the newest ones that the alarm
// asks for, or all if there are fewer.
func (e *evaluation) present() []datapoint {
	all := slices.DeleteFunc(slices.Clone(e.slots), func(p datapoint) bool { return p.missing })
	return all[max(0, len(all)-int(*e.alarm.EvaluationPeriods)):]
}

func (e *evaluation) countMissing() int { return int(*e.alarm.EvaluationPeriods) - len(e.present()) }

func (e *evaluation) isBreaching(p datapoint) bool {
	t := *e.alarm.Threshold
	switch e.alarm.ComparisonOperator {
	case cwtypes.ComparisonOperatorGreaterThanThreshold:
		return p.value > t
	case cwtypes.ComparisonOperatorGreaterThanOrEqualToThreshold:
		return p.value >= t
	case cwtypes.ComparisonOperatorLessThanThreshold:
		return p.value < t
	}
	return p.value <= t
}

func (e *evaluation) countBreaching(all []datapoint) (n int) {
	for _, p := range all {
		if e.isBreaching(p) {
			n++
		}
	}
	return n
}

// nextState returns the state after the evaluation (user guide, "Configuring how CloudWatch alarms
// treat missing data").
func (e *evaluation) nextState(now string) string {
	present := e.present()
	breaching, missing := e.countBreaching(present), e.countMissing()
	treat := val(e.alarm.TreatMissingData)
	if treat == "breaching" {
		breaching += missing
	}
	switch {
	case breaching >= e.needed:
		return world.AlarmRaised
	case missing == 0, treat == "breaching", treat == "notBreaching":
		return world.AlarmOK
	case len(present) == 0 && treat == "ignore":
		return now
	case len(present) == 0:
		return world.AlarmInsufficient
	case e.countBreaching(present) < len(present):
		return world.AlarmOK
	case treat != "ignore" && e.oldestAge() >= e.needed:
		return world.AlarmRaised
	}
	return now
}

// oldestAge returns how many periods ago the oldest value was. If all values are breaching, and the
// oldest is as old as the datapoints to alarm, the missing values cannot prevent the alarm.
func (e *evaluation) oldestAge() int {
	i := slices.IndexFunc(e.slots, func(p datapoint) bool { return !p.missing })
	return len(e.slots) - i
}
