package balancer

import (
	"slices"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// phase is the controller's current work on a target.
type phase uint8

const (
	idle        phase = iota // the target is not in use
	registers                // the registration is in progress
	checks                   // checked by calculation
	probes                   // checked by the data plane
	drains                   // until the deregistration delay has passed
	notRegarded              // health checks are switched off
)

// targetNote is the controller's private state of a target.
type note struct {
	phase             phase
	event             world.Event // the next event
	course            course
	n                 int // probes so far
	rampFrom, rampEnd time.Time
}

// noteOf returns the note of a target. A target that was registered (again) gets a new one.
func (s *state) noteOf(t *world.Target) *note {
	if n, ok := t.Law.(*note); ok {
		return n
	}
	n := &note{}
	t.Law = n
	s.enter(t.ID, t)
	if t.Task != nil {
		s.enter(t.Task.ARN, t)
	}
	return n
}

func (s *state) enter(key string, t *world.Target) {
	if !slices.Contains(s.targets[key], t) {
		s.targets[key] = append(s.targets[key], t)
	}
}

// dropTarget deletes the note of a target.
func (s *state) leave(tx *world.Tx, t *world.Target) {
	if n, ok := t.Law.(*note); ok {
		tx.Cancel(n.event)
	}
	t.Law = nil
	s.strike(t.ID, t)
	if t.Task != nil {
		s.strike(t.Task.ARN, t)
	}
}

func (s *state) strike(key string, t *world.Target) {
	rest := slices.DeleteFunc(slices.Clone(s.targets[key]), func(x *world.Target) bool { return x == t })
	if len(rest) == 0 {
		delete(s.targets, key)
		return
	}
	s.targets[key] = rest
}

// targetsOfTask returns the targets of a task, in order of registration.
func (s *state) behindTask(task *world.Task) []*world.Target {
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

func (l *Law) targetChanged(tx *world.Tx, s *state, t *world.Target) {
	if g, ok := tx.TargetGroups.Get(t.Group.ARN); !ok || g != t.Group {
		return
	}
	n := s.group(t.Group)
	s.views.add(n)
	if t.State == "gone" {
		s.leave(tx, t)
		return
	}
	l.place(tx, s, n, t)
}

// taskChanged checks the targets of a task again, because their answers may differ.
func (l *Law) taskChanged(tx *world.Tx, s *state, task *world.Task) {
	s.adopt(tx, task)
	for _, t := range s.behindTask(task) {
		s.views.add(s.group(t.Group))
		s.tasks.add(task)
		if n := s.noteOf(t); n.phase == checks {
			l.look(tx, t, n)
		}
	}
}

// linkTask links targets that were registered by address to a task that started later.
func (s *state) adopt(tx *world.Tx, task *world.Task) {
	if !task.Address.IsValid() || tx.TasksByAddress[task.Address] != task {
		return
	}
	for _, t := range s.targets[task.Address.String()] {
		if t.Task == nil || t.Task != task && t.Task.LastStatus == "STOPPED" {
			t.Task = task
			s.enter(task.ARN, t)
		}
	}
}

// placeTargets places all targets of a group again after a change of the group's use.
func (l *Law) resettle(tx *world.Tx, s *state, n *groupNote) {
	if n.group == nil {
		return
	}
	s.views.add(n)
	for _, t := range n.group.Targets {
		l.place(tx, s, s.group(n.group), t)
	}
}

// Descriptions of a registered target that gets neither traffic nor checks.
const (
	notConfigured = "Target group is not configured to receive traffic from the load balancer"
	zoneDisabled  = "Target is in an Availability Zone that is not enabled for the load balancer"
)

// placeTarget moves a target into its phase: draining, unused, or registering. It does not change a
// target that is already in that phase.
func (l *Law) place(tx *world.Tx, s *state, g *groupNote, t *world.Target) {
	n := s.noteOf(t)
	if t.State == "draining" {
		if n.phase != drains {
			l.lag(tx, g, t)
			l.drain(tx, t, n)
		}
		return
	}
	if why := g.unused(t); why != "" {
		tx.Cancel(n.event)
		n.phase, n.rampEnd = idle, time.Time{}
		tx.SetTarget(t, "unused", "Target.NotInUse", why)
		return
	}
	switch {
	case n.phase != idle:
	case !g.check.enabled:
		n.phase = notRegarded
		tx.SetTarget(t, "unavailable", "Target.HealthCheckDisabled", "Health checks are not enabled for this target")
	default:
		l.register(tx, g, t, n)
	}
}

// unusedReason returns why a target of the group is not in use, or "".
func (g *groupNote) unused(t *world.Target) string {
	why := notConfigured
	for _, b := range g.behind {
		if b.gone || b.lb.State != "active" {
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
func (l *Law) later(tx *world.Tx, t *world.Target, n *note, d time.Duration, f func(*world.Tx)) {
	tx.Cancel(n.event)
	if d <= 0 {
		f(tx)
		return
	}
	n.event = tx.After(d, func(tx *world.Tx) {
		if t.Law == n {
			f(tx)
		}
	})
}

func (l *Law) register(tx *world.Tx, g *groupNote, t *world.Target, n *note) {
	n.phase = registers
	g.serial++
	serial := g.serial
	tx.SetTarget(t, "initial", registering, "Target registration is in progress")
	k := tx.Knobs().TargetRegistration
	d := tx.Between(k.Min, k.Max, "target registration", g.arn+t.ID, serial)
	p := tx.Knobs().TargetPropagation
	d += tx.Between(p.Min, p.Max, "target registration reaches the nodes", g.arn+t.ID, serial)
	l.later(tx, t, n, d, func(tx *world.Tx) { l.begin(tx, t, n, serial) })
}

// startChecks starts the health checks of a target.
func (l *Law) begin(tx *world.Tx, t *world.Target, n *note, serial int) {
	g := stateOf(tx).group(t.Group)
	first := unjudged()
	tx.SetTarget(t, first.state, first.reason, first.text)
	k := tx.Knobs().FirstCheck
	d := min(tx.Between(k.Min, k.Max, "first check", g.arn+t.ID, serial), g.check.interval)
	n.course = course{first, tx.Now().Add(d), sourceOf(t, g.check), g.check}
	if l.mustProbe(tx, t, g.check) {
		n.phase = probes
		l.later(tx, t, n, d, func(tx *world.Tx) { l.ask(tx, t, n) })
		return
	}
	n.phase = checks
	l.look(tx, t, n)
}

// advanceChecks runs the checks up to now, reads the target's current source, and waits for the
// next check that changes the state.
func (l *Law) look(tx *world.Tx, t *world.Target, n *note) {
	for {
		_, changed := n.course.advance(tx.Now(), false)
		if !changed {
			break
		}
		l.show(tx, t, n)
	}
	if src := sourceOf(t, n.course.check); !src.same(n.course.src) {
		n.course.src = src
	}
	tx.Cancel(n.event)
	ahead := n.course
	if at, ok := ahead.advance(time.Time{}, true); ok {
		n.event = tx.At(at, func(tx *world.Tx) {
			if t.Law == n && n.phase == checks {
				l.look(tx, t, n)
			}
		})
	}
}

// writeHealth writes the health state to the target. A target that became healthy enters slow start
// if the group is configured for it.
func (l *Law) show(tx *world.Tx, t *world.Target, n *note) {
	st := n.course.standing
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
	d := seconds(t.Group.Attributes["slow_start.duration_seconds"], 0)
	if d == 0 {
		return time.Time{}
	}
	for _, peer := range t.Group.Targets {
		n, _ := peer.Law.(*note)
		if peer != t && peer.State == "healthy" && (n == nil || !n.rampEnd.After(tx.Now())) {
			return tx.Now().Add(d)
		}
	}
	return time.Time{}
}

// changeCheck replaces the health check of a group's targets.
func (l *Law) recheck(tx *world.Tx, s *state, g *groupNote, c *check) {
	g.check = c
	for _, t := range g.group.Targets {
		n := s.noteOf(t)
		switch n.phase {
		case checks:
			l.look(tx, t, n)
			n.course.check = c
			n.course.src = sourceOf(t, c)
			if soon := tx.Now().Add(c.interval); n.course.next.After(soon) {
				n.course.next = soon
			}
			l.look(tx, t, n)
		case probes:
			n.course.check = c
		case notRegarded:
			n.phase = idle
			l.place(tx, s, g, t)
		}
	}
}

// drainTarget waits for the deregistration delay, then removes the target and emits
// [world.TargetGone], so that the data plane closes open connections. The target is listed until
// the delay ends, even if it is idle.
func (l *Law) drain(tx *world.Tx, t *world.Target, n *note) {
	n.phase = drains
	d := seconds(t.Group.Attributes["deregistration_delay.timeout_seconds"], 300)
	t.DrainingTill = tx.Now().Add(d)
	l.later(tx, t, n, d, func(tx *world.Tx) {
		tx.Remove(t)
		tx.Emit(world.TargetGone{Key: tx.Key, Group: t.Group.ARN, ID: t.ID, Port: t.Port})
	})
}
