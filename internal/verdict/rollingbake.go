package verdict

import (
	"cmp"
	"slices"
	"time"
)

// longestAutomaticBake is how long ECS may let a bake time pass that it computes from the periods of the deployment's
// alarms.
const longestAutomaticBake = time.Hour

// mayBake reports whether ECS may let the bake time of a rolling update pass: all tasks of the deployment run, and none
// of another. ECS reports that state as IN_PROGRESS, without a stage (Developer Guide, "How CloudWatch alarms detect
// Amazon ECS deployment failures").
func (r *ServiceFollower) mayBake(s *Service, now time.Time) bool {
	if s == nil || s.Controller != "ECS" || s.IsNative() || s.Bake == 0 && !s.Alarms.Enabled || r.followed.rollingBack {
		trackSince(&r.since.ecsBakes, false, now)
		return false
	}
	d := r.followed.deploymentIn(s)
	bakes := d.hasStarted() && !slices.ContainsFunc(s.Deployments,
		func(x Deployment) bool { return x.ID != d.ID && x.Running+x.Pending > 0 })
	since := trackSince(&r.since.ecsBakes, bakes, now)
	return bakes && since < cmp.Or(s.Bake, longestAutomaticBake)
}

// passesTime reports whether ECS lets time pass by its configuration, and no hook waits for an answer.
func (r *ServiceFollower) passesTime() bool { return r.ecsBakes || r.lastRecord.passesTime() }
