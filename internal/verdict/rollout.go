package verdict

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
)

// Wanted describes what a wait is for. Without Revision and Deployment it is the deployment that is
// current at the first poll.
type Wanted struct {
	Revision   string // family:revision that must serve
	Deployment string // ARN or id of a service deployment, "ecs-svc/<digits>", a task set's ARN, or "d-XXXXXXXXX" of CodeDeploy

	Inactive bool // the task definition of Revision is INACTIVE: no new deployment can use it

	After Written // observations older than this write are skipped

	Fresh     bool // the CodeDeploy deployment was just created: the first poll waits
	Returning bool // the CodeDeploy deployment was stopped with a rollback
	Empty     bool // the desired count may be 0: success of the deployment is enough
	Once      bool // single poll: read what would explain a failure immediately
	Serving   bool // judge the running version, not a change: every task must run, other task sets may exist

	Timeout   time.Duration // hard limit, from the first poll; 0: none
	Deadline  time.Duration // without progress; 0: none
	FailAfter int           // failures of one cause, with no healthy task between; 0: [FailAfter]
}

const (
	// maxReadLag is how long AWS's responses may lag behind its writes. An end, a missing service
	// or a missing deployment counts only after that time.
	settle = 10 * time.Second
	// confirmAfter is when an end that the first poll already returned is read again before it
	// counts.
	confirm = 3 * time.Second
	// rollsBackWithin is how long a failed deployment is read before the verdict is that no
	// rollback follows.
	rollsBackWithin = 30 * time.Second
)

// ServiceFollower judges whether a deployment of a service ends with the wanted revision serving.
// It is a value; make one with [FollowService].
type Rollout struct {
	want  Wanted
	began time.Time // clock of this process, as all times here except created
	looks int

	bond             // the followed deployment
	since conditions // since when doubtful states last
	ledger
	pace

	last     *Service
	lastRec  *Record
	unread   []string
	active   bool // the service was ACTIVE at a poll
	recalled bool // the history was read for a revision that has not appeared
	blind    bool // the history of deployments cannot be read
	over     *ending
	asked
}

// conditions stores since when each doubtful state has lasted; the zero time: it does not exist
// now.
type conditions struct{ missing, unseen, ended, failed, lagging, none, full, torn time.Time }

// trackSince stores in at since when so is true, and returns for how long. It returns -1 if so is
// false.
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

// conclusion is how a deployment ended.
type ending struct {
	outcome sluice.Outcome
	by      string
	why     string // AWS's reason, or that of this package
	next    string
	cause   *Cause // takes precedence over the counted causes
}

// FollowService starts a judge. The hard limit counts from now.
func Follow(now time.Time, w Wanted) Rollout {
	if w.FailAfter <= 0 {
		w.FailAfter = FailAfter
	}
	return Rollout{want: w, began: now, pace: pace{changed: now, moved: now}}
}

// Began returns when the wait began.
func (r Rollout) Began() time.Time { return r.began }

// See adds an observation. After the end it only adds explanations.
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

// TimeOut ends the wait at its hard limit without another observation, because reads fail. why may
// be empty.
func (r Rollout) GiveUp(now time.Time, why string) (Rollout, Verdict) {
	if r.over == nil {
		r.over = &ending{outcome: sluice.TimedOut, why: strings.TrimSuffix(fmt.Sprintf("%s passed; %s", r.want.Timeout, why), "; ")}
	}
	return r, r.verdict(Observation{At: now, Service: r.last})
}

// recordObservation stores what does not depend on the verdict.
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

// noteUnread stores what could not be read, each text once.
func (r *Rollout) note(unread ...string) {
	for _, u := range unread {
		if !slices.Contains(r.unread, u) {
			r.unread = append(slices.Clone(r.unread), u)
		}
	}
}

// isFollowedTask reports whether a task belongs to the followed deployment.
func (r *Rollout) ours(t Stopped) bool {
	if r.id != "" && t.Deployment != "" && !r.external {
		return t.Deployment == r.id
	}
	return r.revision != "" && t.Revision == r.revision
}

// followedRecord returns the followed deployment's record from the observation.
func (r *Rollout) record(o Observation) *Record { return recordIn(o, r.arn) }

func recordIn(o Observation, arn string) *Record {
	for i := range o.Records {
		if arn != "" && o.Records[i].ARN == arn {
			return &o.Records[i]
		}
	}
	return nil
}

// findConclusion returns how the deployment ended; nil: it has not ended.
func (r *Rollout) judge(o Observation) *ending {
	end := r.fate(o)
	if end != nil && end.outcome == sluice.Succeeded && o.Service.Desired == 0 && !r.want.Empty {
		end = nil // no task runs it
	}
	if end != nil && end.outcome == sluice.Succeeded && r.want.Serving && !r.whole(o.Service) {
		end = nil // wait until all tasks run again
	}
	if end == nil {
		end = r.limits(o)
	}
	return end
}

// allTasksRun reports whether every desired task of the followed revision runs.
func (r *Rollout) whole(s *Service) bool {
	running, pending, _ := r.tasks(s)
	return running >= s.Desired && pending == 0
}

// outcomeNow returns the outcome that AWS's responses show.
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

// judgeBySource judges by the source that AWS offers: task sets, the deployment's record, or the
// list of deployments.
func (r *Rollout) course(o Observation) *ending {
	switch {
	case r.external:
		return r.judgeSets(o.Service, o.At)
	case r.lastRec != nil:
		return r.judgeRecord(o)
	}
	return r.judgeListed(o.Service, o.At)
}

// needsSecondPoll reports whether the end was already there at the first poll and may belong to an
// earlier deployment, because AWS's responses lag. It is false if the caller named the deployment,
// or waits for a revision that serves.
func (r *Rollout) hasty(o Observation, end *ending) bool {
	if r.want.Deployment != "" || r.want.Revision != "" && end.outcome == sluice.Succeeded {
		return false
	}
	if r.looks == 1 {
		r.since.ended = o.At
	}
	return !r.since.ended.IsZero() && o.At.Sub(r.since.ended) < confirm
}
