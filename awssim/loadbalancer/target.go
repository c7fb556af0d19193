package loadbalancer

import (
	"slices"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// phase is the controller's current work on a target.
type phase uint8

const (
	phaseIdle        phase = iota // the target is not in use
	phaseRegistering              // the registration is in progress
	phaseChecked                  // checked by calculation
	phaseProbed                   // checked by the data plane
	phaseDraining                 // until the deregistration delay has passed
	phaseUnchecked                // health checks are switched off
)

// targetNote is the controller's private state of a target.
type targetNote struct {
	phase             phase
	event             world.Event // the next event
	schedule          checkSchedule
	probeCount        int // probes so far
	rampFrom, rampEnd time.Time
}

// noteOf returns the note of a target. A target that was registered (again) gets a new one.
func (s *state) noteOf(t *world.Target) *targetNote {
	if n, ok := t.BalancerState.(*targetNote); ok {
		return n
	}
	n := &targetNote{}
	t.BalancerState = n
	s.indexTarget(t.ID, t)
	if t.Task != nil {
		s.indexTarget(t.Task.ARN, t)
	}
	return n
}

func (s *state) indexTarget(key string, t *world.Target) {
	if !slices.Contains(s.targets[key], t) {
		s.targets[key] = append(s.targets[key], t)
	}
}

// dropTarget deletes the note of a target.
func (s *state) dropTarget(tx *world.Tx, t *world.Target) {
	if n, ok := t.BalancerState.(*targetNote); ok {
		tx.Cancel(n.event)
	}
	t.BalancerState = nil
	s.unindexTarget(t.ID, t)
	if t.Task != nil {
		s.unindexTarget(t.Task.ARN, t)
	}
}

func (s *state) unindexTarget(key string, t *world.Target) {
	rest := slices.DeleteFunc(slices.Clone(s.targets[key]), func(x *world.Target) bool { return x == t })
	if len(rest) == 0 {
		delete(s.targets, key)
		return
	}
	s.targets[key] = rest
}

// targetsOfTask returns the targets of a task, in order of registration.
func (s *state) targetsOfTask(task *world.Task) []*world.Target {
	var out []*world.Target
	add := func(key string) {
		for _, t := range s.targets[key] {
			if t.Task == task && !slices.Contains(out, t) {
				out = append(out, t)
			}
		}
	}
	add(task.ARN)
	if task.Address.IsValid() {
		add(task.Address.String())
	}
	return out
}

func (l *Controller) targetChanged(tx *world.Tx, s *state, t *world.Target) {
	if g, ok := tx.TargetGroups.Get(t.Group.ARN); !ok || g != t.Group {
		return
	}
	n := s.groupOf(t.Group)
	s.views.add(n)
	if t.State == "gone" {
		s.dropTarget(tx, t)
		return
	}
	l.placeTarget(tx, s, n, t)
}

// taskChanged checks the targets of a task again, because their answers may differ.
func (l *Controller) taskChanged(tx *world.Tx, s *state, task *world.Task) {
	s.linkTask(tx, task)
	for _, t := range s.targetsOfTask(task) {
		s.views.add(s.groupOf(t.Group))
		s.tasks.add(task)
		if n := s.noteOf(t); n.phase == phaseChecked {
			l.advanceChecks(tx, t, n)
		}
	}
}

// linkTask links targets that were registered by address to a task that started later.
func (s *state) linkTask(tx *world.Tx, task *world.Task) {
	if !task.Address.IsValid() || tx.TasksByAddress[task.Address] != task {
		return
	}
	for _, t := range s.targets[task.Address.String()] {
		if t.Task == nil || t.Task != task && t.Task.LastStatus == "STOPPED" {
			t.Task = task
			s.indexTarget(task.ARN, t)
		}
	}
}

// placeTargets places all targets of a group again after a change of the group's use.
func (l *Controller) placeTargets(tx *world.Tx, s *state, n *groupNote) {
	if n.group == nil {
		return
	}
	s.views.add(n)
	for _, t := range n.group.Targets {
		l.placeTarget(tx, s, s.groupOf(n.group), t)
	}
}

// Descriptions of a registered target that gets neither traffic nor checks.
const (
	notConfigured = "Target group is not configured to receive traffic from the load balancer"
	zoneDisabled  = "Target is in an Availability Zone that is not enabled for the load balancer"
)

// placeTarget moves a target into its phase: draining, unused, or registering. It does not change a
// target that is already in that phase.
func (l *Controller) placeTarget(tx *world.Tx, s *state, g *groupNote, t *world.Target) {
	n := s.noteOf(t)
	if t.State == "draining" {
		if n.phase != phaseDraining {
			l.keepAtNodes(tx, g, t)
			l.drainTarget(tx, t, n)
		}
		return
	}
	if why := g.unusedReason(t); why != "" {
		tx.Cancel(n.event)
		n.phase, n.rampEnd = phaseIdle, time.Time{}
		tx.SetTarget(t, "unused", "Target.NotInUse", why)
		return
	}
	switch {
	case n.phase != phaseIdle:
	case !g.check.enabled:
		n.phase = phaseUnchecked
		tx.SetTarget(t, "unavailable", "Target.HealthCheckDisabled", "Health checks are not enabled for this target")
	default:
		l.startRegistration(tx, g, t, n)
	}
}

// unusedReason returns why a target of the group is not in use, or "".
func (g *groupNote) unusedReason(t *world.Target) string {
	why := notConfigured
	for _, b := range g.usedBy {
		if b.deleted || b.lb.State != "active" {
			continue
		}
		if t.Zone == "" || t.Zone == "all" || len(b.lb.Zones) == 0 || slices.Contains(b.lb.Zones, t.Zone) {
			return ""
		}
		why = zoneDisabled
	}
	return why
}

// runLater runs f after d, at once if d is 0. It does not run f if the target is registered again
// or placed elsewhere before.
func (l *Controller) runLater(tx *world.Tx, t *world.Target, n *targetNote, d time.Duration, f func(*world.Tx)) {
	tx.Cancel(n.event)
	if d <= 0 {
		f(tx)
		return
	}
	n.event = tx.After(d, func(tx *world.Tx) {
		if t.BalancerState == n {
			f(tx)
		}
	})
}

func (l *Controller) startRegistration(tx *world.Tx, g *groupNote, t *world.Target, n *targetNote) {
	n.phase = phaseRegistering
	g.serial++
	serial := g.serial
	tx.SetTarget(t, "initial", registrationInProgress, "Target registration is in progress")
	k := tx.Settings().TargetRegistration
	d := tx.RandomBetween(k.Min, k.Max, "target registration", g.arn+t.ID, serial)
	p := targetDelay(tx, g)
	d += tx.RandomBetween(p.Min, p.Max, "target registration reaches the nodes", g.arn+t.ID, serial)
	l.runLater(tx, t, n, d, func(tx *world.Tx) { l.startChecks(tx, t, n, serial) })
}

// startChecks starts the health checks of a target.
func (l *Controller) startChecks(tx *world.Tx, t *world.Target, n *targetNote, serial int) {
	g := stateOf(tx).groupOf(t.Group)
	first := initialHealth()
	tx.SetTarget(t, first.state, first.reason, first.text)
	k := tx.Settings().FirstCheck
	d := min(tx.RandomBetween(k.Min, k.Max, "first check", g.arn+t.ID, serial), g.check.interval)
	n.schedule = checkSchedule{first, tx.Now().Add(d), sourceOf(t, g.check), g.check}
	if l.mustProbe(tx, t, g.check) {
		n.phase = phaseProbed
		l.runLater(tx, t, n, d, func(tx *world.Tx) { l.requestProbe(tx, t, n) })
		return
	}
	n.phase = phaseChecked
	l.advanceChecks(tx, t, n)
}

// advanceChecks runs the checks up to now, reads the target's current source, and waits for the
// next check that changes the state.
func (l *Controller) advanceChecks(tx *world.Tx, t *world.Target, n *targetNote) {
	for {
		_, changed := n.schedule.runChecks(tx.Now(), false)
		if !changed {
			break
		}
		l.writeHealth(tx, t, n)
	}
	if src := sourceOf(t, n.schedule.check); !src.answersAlike(n.schedule.src) {
		n.schedule.src = src
	}
	tx.Cancel(n.event)
	ahead := n.schedule
	if at, ok := ahead.runChecks(time.Time{}, true); ok {
		n.event = tx.At(at, func(tx *world.Tx) {
			if t.BalancerState == n && n.phase == phaseChecked {
				l.advanceChecks(tx, t, n)
			}
		})
	}
}

// writeHealth writes the health state to the target. A target that became healthy enters slow start
// if the group is configured for it.
func (l *Controller) writeHealth(tx *world.Tx, t *world.Target, n *targetNote) {
	st := n.schedule.healthState
	if st.state == "healthy" && t.State != "healthy" {
		n.rampFrom, n.rampEnd = tx.Now(), slowStart(tx, t)
	} else if st.state != "healthy" {
		n.rampEnd = time.Time{}
	}
	tx.SetTarget(t, st.state, st.reason, st.text)
}

// slowStart returns the end of a target's slow start. It returns zero if the target gets its full
// share at once: no healthy peer has finished its own slow start.
func slowStart(tx *world.Tx, t *world.Target) time.Time {
	d := secondsOr(t.Group.Attributes["slow_start.duration_seconds"], 0)
	if d == 0 {
		return time.Time{}
	}
	for _, peer := range t.Group.Targets {
		n, _ := peer.BalancerState.(*targetNote)
		if peer != t && peer.State == "healthy" && (n == nil || !n.rampEnd.After(tx.Now())) {
			return tx.Now().Add(d)
		}
	}
	return time.Time{}
}

// changeCheck replaces the health check of a group's targets.
func (l *Controller) changeCheck(tx *world.Tx, s *state, g *groupNote, c *check) {
	g.check = c
	for _, t := range g.group.Targets {
		n := s.noteOf(t)
		switch n.phase {
		case phaseChecked:
			l.advanceChecks(tx, t, n)
			n.schedule.check = c
			n.schedule.src = sourceOf(t, c)
			if soon := tx.Now().Add(c.interval); n.schedule.next.After(soon) {
				n.schedule.next = soon
			}
			l.advanceChecks(tx, t, n)
		case phaseProbed:
			n.schedule.check = c
		case phaseUnchecked:
			n.phase = phaseIdle
			l.placeTarget(tx, s, g, t)
		}
	}
}

// drainTarget waits for the deregistration delay, then removes the target and emits
// [world.TargetGone], so that the data plane closes open connections. The target is listed until
// the delay ends, even if it is idle.
func (l *Controller) drainTarget(tx *world.Tx, t *world.Target, n *targetNote) {
	n.phase = phaseDraining
	d := secondsOr(t.Group.Attributes["deregistration_delay.timeout_seconds"], 300)
	t.DrainingTill = tx.Now().Add(d)
	l.runLater(tx, t, n, d, func(tx *world.Tx) {
		tx.RemoveTarget(t)
		tx.Emit(world.TargetGone{Key: tx.Key, Group: t.Group.ARN, ID: t.ID, Port: t.Port})
	})
}
