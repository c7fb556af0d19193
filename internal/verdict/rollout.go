package verdict

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
)

// Wanted is what a wait is for. With neither Revision nor Deployment it is the
// deployment that is current at the first look.
type Wanted struct {
	Revision   string // family:revision that has to serve
	Deployment string // ARN or id of a service deployment, "ecs-svc/<digits>", a task set's ARN, or "d-XXXXXXXXX" of CodeDeploy

	Inactive bool // the task definition of Revision is INACTIVE: no new deployment can bring it

	After Written // observations that are older than this write are passed over

	Fresh     bool // the CodeDeploy deployment was made a moment ago: nothing is to be seen yet
	Returning bool // the CodeDeploy deployment was stopped so that it is rolled back
	Empty     bool // the service is to run no task: that its deployment ends well is enough
	Once      bool // nobody waits: what would explain a failure is read at once
	Serving   bool // judged is what serves, not a change: every task has to run, and task sets that are not of a change may stay

	Timeout   time.Duration // hard, from the first look on; 0: none
	Deadline  time.Duration // without progress; 0: none
	FailAfter int           // failures of one cause, with no healthy task between; 0: [FailAfter]
}

const (
	// settle is how long AWS's answers may lag behind its writes: an end, a
	// missing service or a deployment that nobody sees is believed after that.
	settle = 10 * time.Second
	// confirm is when an end that stood already at the first look is looked at
	// again before it is believed.
	confirm = 3 * time.Second
	// rollsBackWithin is how long a failed deployment may stand before it is
	// believed that no rollback follows.
	rollsBackWithin = 30 * time.Second
)

// Rollout judges whether a deployment of a service ends with the wanted
// revision serving. It is a value; make one with [Follow].
type Rollout struct {
	want  Wanted
	began time.Time // our clock, as all times here but created
	looks int

	bond             // which deployment is followed
	since conditions // when a doubtful state was first seen
	ledger
	pace

	last     *Service
	lastRec  *Record
	unread   []string
	active   bool // the service was ACTIVE at a look
	recalled bool // the history was read for a revision that has not appeared
	blind    bool // no history of deployments can be read
	over     *ending
	asked
}

// conditions are since when something doubtful has been seen; the zero time: not
// now.
type conditions struct{ missing, unseen, ended, failed, lagging, none, full, torn time.Time }

// hold notes in at whether so is the case, and returns for how long it has been.
func hold(at *time.Time, so bool, now time.Time) time.Duration {
	if !so {
		*at = time.Time{}
		return -1
	}
	if at.IsZero() {
		*at = now
	}
	return now.Sub(*at)
}

// ending is how it ended.
type ending struct {
	outcome sluice.Outcome
	by      string
	why     string // of AWS, or ours
	next    string
	cause   *Cause // that outweighs the counted ones
}

// Follow starts a judge. The hard limit counts from now.
func Follow(now time.Time, w Wanted) Rollout {
	if w.FailAfter <= 0 {
		w.FailAfter = FailAfter
	}
	return Rollout{want: w, began: now, pace: pace{changed: now, moved: now}}
}

// Began is when the wait began.
func (r Rollout) Began() time.Time { return r.began }

// See adds an observation. After the end it only adds what explains it.
func (r Rollout) See(o Observation) (Rollout, Verdict) {
	if r.isOld(o) {
		v := r.passOver(o)
		return r, v
	}
	r.learn(o)
	if r.over == nil {
		r.over = r.judge(o)
		r.walk(o)
	}
	v := r.verdict(o)
	r.answered(o)
	return r, v
}

// GiveUp ends the wait at its hard limit without another observation: nothing can
// be read. why may be empty.
func (r Rollout) GiveUp(now time.Time, why string) (Rollout, Verdict) {
	if r.over == nil {
		r.over = &ending{outcome: sluice.TimedOut, why: strings.TrimSuffix(fmt.Sprintf("%s passed; %s", r.want.Timeout, why), "; ")}
	}
	return r, r.verdict(Observation{At: now, Service: r.last})
}

// learn takes in what does not depend on the judgement.
func (r *Rollout) learn(o Observation) {
	r.looks++
	r.blind = r.blind || o.Blind
	r.note(o.Unread...)
	for _, l := range o.Logs {
		if l.Err != "" {
			r.note("log of container " + l.Container + ": " + l.Err)
		}
	}
	if o.Service == nil {
		if r.last != nil {
			r.ledger = r.hear(o.Logs, probes(r.last.Events))
		}
		return
	}
	r.active = r.active || o.Service.Status == "ACTIVE"
	r.bind(o)
	if rec := r.record(o); rec != nil {
		r.stood = r.stood || r.lastRec == nil && rec.over()
		r.lastRec = rec
	}
	said := probes(o.Service.Events)
	r.ledger = r.add(slices.DeleteFunc(slices.Clone(o.Fallen), func(t Stopped) bool { return !r.ours(t) }), said)
	r.ledger = r.hear(o.Logs, said)
	if r.recovered(o) {
		r.ledger = r.forgive()
	}
}

// note keeps what could not be read, each once.
func (r *Rollout) note(unread ...string) {
	for _, u := range unread {
		if !slices.Contains(r.unread, u) {
			r.unread = append(slices.Clone(r.unread), u)
		}
	}
}

// ours reports whether a task is of the deployment that is followed.
func (r *Rollout) ours(t Stopped) bool {
	if r.id != "" && t.Deployment != "" && !r.external {
		return t.Deployment == r.id
	}
	return r.revision != "" && t.Revision == r.revision
}

// record is the followed deployment's record in the observation.
func (r *Rollout) record(o Observation) *Record { return recordIn(o, r.arn) }

func recordIn(o Observation, arn string) *Record {
	for i := range o.Records {
		if arn != "" && o.Records[i].ARN == arn {
			return &o.Records[i]
		}
	}
	return nil
}

// judge says how it ended; nil if it has not.
func (r *Rollout) judge(o Observation) *ending {
	end := r.fate(o)
	if end != nil && end.outcome == sluice.Succeeded && o.Service.Desired == 0 && !r.want.Empty {
		end = nil // nobody runs it
	}
	if end != nil && end.outcome == sluice.Succeeded && r.want.Serving && !r.whole(o.Service) {
		end = nil // the verdict comes once it is whole again
	}
	if end == nil {
		end = r.limits(o)
	}
	return end
}

// whole reports whether every task of the followed revision runs that should.
func (r *Rollout) whole(s *Service) bool {
	running, pending, _ := r.tasks(s)
	return running >= s.Desired && pending == 0
}

// fate is what AWS shows.
func (r *Rollout) fate(o Observation) *ending {
	if end, sure := r.absent(o); sure {
		return end
	}
	if end, sure := r.unborn(o); sure {
		return end
	}
	end := r.course(o)
	if end != nil && r.hasty(o, end) {
		return nil
	}
	if end == nil {
		end = r.looping(o.Service)
	}
	return end
}

// course goes by what AWS keeps of the deployment.
func (r *Rollout) course(o Observation) *ending {
	switch {
	case r.external:
		return r.judgeSets(o.Service, o.At)
	case r.lastRec != nil:
		return r.judgeRecord(o)
	}
	return r.judgeListed(o.Service, o.At)
}

// hasty reports that an end stood at the first look already and may be one of an
// earlier deployment, because AWS's answer is a moment old. Who named the
// deployment, or waits for a revision that serves, is answered at once.
func (r *Rollout) hasty(o Observation, end *ending) bool {
	if r.want.Deployment != "" || r.want.Revision != "" && end.outcome == sluice.Succeeded {
		return false
	}
	if r.looks == 1 {
		r.since.ended = o.At
	}
	return !r.since.ended.IsZero() && o.At.Sub(r.since.ended) < confirm
}
