package scheduler

import (
	"slices"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// minBakeTime is the automatic bake time of alarms without a period.
const minBakeTime = time.Minute

func isAlarmRaised(tx *world.Tx, name string) bool {
	a, ok := tx.Alarms.Get(name)
	return ok && a.State == world.AlarmRaised
}

// checkAlarms records the alarms that end a rollout and reports whether there are any. It checks
// from the rollout's first task to its end. It ignores alarms that do not exist and alarms that
// were raised before the rollout. A rollback is not monitored.
func (r *Rollout) checkAlarms(tx *world.Tx, a Alarms) bool {
	if !a.Enable || !r.hasStarted || r.Rollback != nil {
		return false
	}
	for _, name := range a.Names {
		if isAlarmRaised(tx, name) && !slices.Contains(r.ignoredAlarms, name) {
			r.raisedAlarms = append(r.raisedAlarms, name)
		}
	}
	return len(r.raisedAlarms) > 0
}

// bakeTime returns how long a rollout is monitored after its tasks were replaced: the configured
// time, otherwise the longest evaluation time of its alarms.
func bakeTime(tx *world.Tx, r Rules) time.Duration {
	if r.Bake > 0 || !r.Alarms.Enable {
		return r.Bake
	}
	d := minBakeTime
	for _, name := range r.Alarms.Names {
		if a, ok := tx.Alarms.Get(name); ok {
			d = max(d, a.Period*time.Duration(max(a.EvaluationPeriods, 1)))
		}
	}
	return d
}

// alarmChanged schedules the services whose rollout the alarm monitors.
func alarmChanged(tx *world.Tx, a *world.Alarm) {
	for _, svc := range tx.Services.All() {
		r := latestRollout(svc)
		if r != nil && r.isActive() && slices.Contains(r.rules().Alarms.Names, a.Name) {
			scheduleReconcile(tx, svc)
		}
	}
}
