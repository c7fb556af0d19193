package verdict

import (
	"slices"
	"time"

	"github.com/sluice-ecs/sluice"
)

// Needs is what else to read of one service at a look.
type Needs struct {
	Records []string  // ARNs of service deployments
	Fallen  bool      // tasks that ended since the last reading
	Targets []string  // ARNs of target groups whose health to read
	Logs    []Stopped // tasks whose last lines to read
	History string    // family:revision whose newest service deployment to find and read
}

// Any reports whether anything is needed.
func (n Needs) Any() bool {
	return len(n.Records)+len(n.Targets)+len(n.Logs) > 0 || n.Fallen || n.History != ""
}

// asked is what was read, and when.
type asked struct {
	states   string    // of the deployments when the record was read last
	recordAt time.Time // when the record is to be read again; zero: on change only
	fallenAt time.Time // likewise the stopped tasks
	againAt  time.Time // and once more after that
	probedAt string    // the print at which target health was read for want of movement
	hearing
}

const (
	// AWS's answers lag, and a task takes seconds to stop once it has failed.
	lookAfter, lookOnceMore = 5 * time.Second, 20 * time.Second
	// stages of a native strategy are in the record alone.
	stagesEvery = 10 * time.Second
	// unwellFor is how long all tasks may run without the deployment being done
	// before their targets are looked at.
	unwellFor = 15 * time.Second
)

// Needs says what a look at s makes worth reading: nothing, as long as nothing
// changes. It is asked after the service was read and before [Rollout.See].
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

// needHistory is the revision if it has not appeared for as long as AWS's answers may
// lag: then it is looked up once whether it was deployed before and replaced.
func (r Rollout) needHistory(now time.Time) string {
	if r.bound || r.recalled || r.since.unseen.IsZero() || now.Sub(r.since.unseen) <= settle {
		return ""
	}
	return r.want.Revision
}

// needRecords: of the followed deployment when the list of deployments changed,
// and of the current one if that is another.
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

// statesOf is what of the list only the record explains.
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

// lags reports whether the list tells of an end that the record has not told.
func (r Rollout) lags(s *Service) bool {
	if r.lastRec == nil || r.lastRec.over() && !r.since.lagging.IsZero() {
		return true
	}
	p := s.primary()
	return !r.lastRec.over() && p != nil && (p.State == "COMPLETED" || s.Current != r.arn)
}

// needFallen: only if something tells of a task that ended badly.
func (r Rollout) needFallen(s *Service, now time.Time) bool {
	if !r.fallenAt.IsZero() && !now.Before(r.fallenAt) {
		return true
	}
	if r.last == nil {
		return r.hurtAtFirst(s)
	}
	return r.hurt(r.last, s)
}

// hurtAtFirst: the wait begins in the middle.
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

// hurt compares two looks.
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

// newEvents are the events since the last look; begun if tasks were started.
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

// sick: a new event says that a target is unhealthy.
func (r Rollout) sick(s *Service) bool {
	if r.last == nil {
		return false
	}
	fresh, _ := newEvents(r.last, s)
	return slices.ContainsFunc(fresh, func(e Event) bool { return containsAny(e.Message, []string{"unhealthy", "not healthy"}) })
}

// unwell: all tasks run, for a while, and the deployment is not done.
func (r Rollout) unwell(s *Service, now time.Time) bool {
	d := r.mine(s)
	return d != nil && d.State == "IN_PROGRESS" && d.Running >= d.Desired && d.Desired > 0 && d.Pending == 0 && s.Running == d.Running &&
		r.print != r.probedAt && now.Sub(r.changed) >= unwellFor
}

// answered notes what was read.
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
