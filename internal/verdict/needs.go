package verdict

import (
	"slices"
	"time"

	"github.com/sluice-ecs/sluice"
)

// Needs lists what else to read of a service at a poll.
type Needs struct {
	Records []string  // ARNs of service deployments
	Fallen  bool      // tasks that stopped since the last read
	Targets []string  // ARNs of target groups whose health to read
	Logs    []Stopped // tasks whose last log lines to read
	History string    // family:revision whose newest service deployment to find and read
}

// Any reports whether anything has to be read.
func (n Needs) Any() bool {
	return len(n.Records)+len(n.Targets)+len(n.Logs) > 0 || n.Fallen || n.History != ""
}

// readState stores what was read, and when to read again.
type asked struct {
	states   string    // statesOf the service when the record was last read
	recordAt time.Time // when to read the record again; zero: only after a change
	fallenAt time.Time // when to read the stopped tasks again; zero: only after a failure
	againAt  time.Time // when to read them once more after that
	probedAt string    // the fingerprint at which target health was read because nothing changed
	hearing
}

const (
	// rereadAfter and rereadAgainAfter allow for AWS's responses, which lag, and for failed tasks,
	// which take seconds to stop.
	lookAfter, lookOnceMore = 5 * time.Second, 20 * time.Second
	// stageInterval applies to native strategies: only the record contains their lifecycle stages.
	stagesEvery = 10 * time.Second
	// overdueAfter is how long all tasks may run without the deployment being completed before
	// their targets are read.
	unwellFor = 15 * time.Second
)

// Needs returns what to read after s was read, and before [ServiceFollower.See]. It is empty as
// long as the service does not change.
func (r Rollout) Needs(s *Service, now time.Time) Needs {
	if s == nil || r.over != nil {
		return Needs{}
	}
	var n Needs
	if s.Controller != "EXTERNAL" && !r.blind {
		n.Records = r.needRecords(s, now)
		n.History = r.needHistory(now)
	}
	n.Fallen = r.needFallen(s, now)
	if len(s.Groups) > 0 && (n.Fallen && r.sick(s) || r.unwell(s, now)) {
		n.Targets = s.Groups
	}
	return n
}

// neededHistory returns the revision if it has not appeared for as long as AWS's responses may lag.
// Then one search of the history checks whether it was deployed before and replaced.
func (r Rollout) needHistory(now time.Time) string {
	if r.bound || r.recalled || r.since.unseen.IsZero() || now.Sub(r.since.unseen) <= settle {
		return ""
	}
	return r.want.Revision
}

// neededRecords returns the ARN of the followed deployment when the list of deployments changed. It
// adds the current deployment if that is another one.
func (r Rollout) needRecords(s *Service, now time.Time) []string {
	var arns []string
	due := statesOf(s) != r.states || !r.recordAt.IsZero() && !now.Before(r.recordAt)
	mine := r.arn
	if !r.bound && r.want.Deployment != "" {
		b := r
		b.chooseNamed(s)
		mine = b.arn
	}
	if mine != "" && (due || r.lastRec == nil || r.lags(s)) {
		arns = append(arns, mine)
	}
	if s.Current != "" && s.Current != mine && (due || !r.bound) {
		arns = append(arns, s.Current)
	}
	return arns
}

// statesOf returns the parts of the list that only the record explains.
func statesOf(s *Service) string {
	all := s.Current
	for _, d := range s.Deployments {
		all += "\n" + d.ID + " " + d.Status + " " + d.State + " " + d.Reason
	}
	for _, e := range s.Events {
		if containsAny(e.Message, []string{"rolling back", "deployment failed", "deployment completed", "alarm"}) {
			return all + "\n" + e.ID
		}
	}
	return all
}

// recordLags reports whether the list contains an end that the record does not contain yet.
func (r Rollout) lags(s *Service) bool {
	if r.lastRec == nil || r.lastRec.over() && !r.since.lagging.IsZero() {
		return true
	}
	p := s.primary()
	return !r.lastRec.over() && p != nil && (p.State == "COMPLETED" || s.Current != r.arn)
}

// needsStopped reports whether to read the stopped tasks: only if something indicates a failed
// task.
func (r Rollout) needFallen(s *Service, now time.Time) bool {
	if !r.fallenAt.IsZero() && !now.Before(r.fallenAt) {
		return true
	}
	if r.last == nil {
		return r.hurtAtFirst(s)
	}
	return r.hurt(r.last, s)
}

// sawFailureAtStart reports whether the first poll indicates a failed task. The wait may begin in
// the middle of a deployment.
func (r Rollout) hurtAtFirst(s *Service) bool {
	for _, d := range s.Deployments {
		if d.State != "COMPLETED" && (d.Failed > 0 || d.Running < d.Desired) {
			return true
		}
	}
	for _, ts := range s.TaskSets {
		if !ts.Steady && ts.Status != "DRAINING" {
			return true
		}
	}
	p := s.primary()
	return p != nil && s.rolledBackTo(p.ID)
}

// sawFailure reports whether the changes between two polls indicate a failed task.
func (r Rollout) hurt(was, s *Service) bool {
	fresh, begun := newEvents(was, s)
	if slices.ContainsFunc(fresh, worrying) {
		return true
	}
	grew, fell := false, false
	for _, d := range s.Deployments {
		old := was.deployment(d.ID)
		switch {
		case old == nil:
			grew = true
			continue
		case d.Failed > old.Failed:
			return true
		}
		ours := d.ID == r.id
		grew = grew || d.Running+d.Pending > old.Running+old.Pending
		fell = fell || ours && (d.Running < old.Running || d.Running+d.Pending < old.Running+old.Pending)
	}
	for _, ts := range s.TaskSets {
		i := slices.IndexFunc(was.TaskSets, func(x sluice.TaskSet) bool { return x.ID == ts.ID })
		if i < 0 {
			grew = true
			continue
		}
		old, total := was.TaskSets[i], ts.Running+ts.Pending
		grew = grew || total > old.Running+old.Pending
		fell = fell || ts.Revision == r.revision && ts.Status != "DRAINING" && (ts.Running < old.Running || total < old.Running+old.Pending)
	}
	return fell || begun && !grew
}

// newEvents returns the events since the last poll. begun is true if tasks were started.
func newEvents(was, s *Service) (fresh []Event, begun bool) {
	last := ""
	if len(was.Events) > 0 {
		last = was.Events[0].ID
	}
	for _, e := range s.Events {
		if e.ID == last {
			break
		}
		fresh = append(fresh, e)
		begun = begun || started(e)
	}
	return fresh, begun
}

// sawUnhealthyTarget reports whether a new event says that a target is unhealthy.
func (r Rollout) sick(s *Service) bool {
	if r.last == nil {
		return false
	}
	fresh, _ := newEvents(r.last, s)
	return slices.ContainsFunc(fresh, func(e Event) bool { return containsAny(e.Message, []string{"unhealthy", "not healthy"}) })
}

// isOverdue reports whether all tasks have run for a while and the deployment is not completed.
func (r Rollout) unwell(s *Service, now time.Time) bool {
	d := r.mine(s)
	return d != nil && d.State == "IN_PROGRESS" && d.Running >= d.Desired && d.Desired > 0 && d.Pending == 0 && s.Running == d.Running &&
		r.print != r.probedAt && now.Sub(r.changed) >= unwellFor
}

// noteReads stores what was read.
func (r *Rollout) answered(o Observation) {
	r.hearing = r.heard(r.ledger, o.Logs)
	s := o.Service
	if s == nil {
		return
	}
	r.noteRecord(o)
	r.noteFallen(o)
	if o.Targets != nil {
		r.probedAt = r.print
	}
	r.last = s
}

func (r *Rollout) noteRecord(o Observation) {
	now := statesOf(o.Service)
	switch {
	case len(o.Records) == 0:
		return
	case now != r.states:
		r.states, r.recordAt = now, o.At.Add(lookAfter)
	case !r.recordAt.IsZero() && !o.At.Before(r.recordAt):
		r.recordAt = time.Time{}
	}
	if o.Service.native() && r.recordAt.IsZero() {
		r.recordAt = o.At.Add(stagesEvery)
	}
}

func (r *Rollout) noteFallen(o Observation) {
	hurt := r.last == nil && r.hurtAtFirst(o.Service) || r.last != nil && r.hurt(r.last, o.Service)
	switch {
	case hurt:
		r.fallenAt, r.againAt = o.At.Add(lookAfter), o.At.Add(lookOnceMore)
	case !r.fallenAt.IsZero() && !o.At.Before(r.fallenAt):
		r.fallenAt, r.againAt = r.againAt, time.Time{}
	}
}
