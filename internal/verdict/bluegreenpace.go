package verdict

import (
	"fmt"
	"strings"
	"time"
)

// codePolling stores how a CodeDeploy deployment progresses, which determines the time of the next
// poll. It also stores what was requested.
type codePace struct {
	print    string    // of the last poll: everything that counts as a change
	changed  time.Time // when the fingerprint last changed
	moved    time.Time // progress
	best     int       // most progress
	ran      int       // tasks of the replacement that ran or started at the last poll
	fell     bool      // they are fewer than at the previous poll
	looks    int
	fallenAt time.Time // when stopped tasks were read last
	asked    CodeNeeds // the last request; Revision: whether it was ever requested
	urgent   bool      // the poll requires another read immediately
}

const (
	// firstPollAfter is how long a new deployment shows no change: CodeDeploy takes seconds for its
	// first step.
	firstLook = 8 * time.Second
	// eventInterval is the time between polls during a lifecycle event that may end the deployment.
	// installInterval applies while its tasks start, since other events follow. closingInterval
	// applies once all traffic is moved. endInterval applies when only the final status is missing.
	nextEvent, installs, closes, nearEnd = 4 * time.Second, 6 * time.Second, 3 * time.Second, 2 * time.Second
	// slowInterval applies to what takes minutes by design: a wait for a person, traffic steps,
	// tasks that do not start, an original task set that is kept.
	slow = 10 * time.Second
	// stuckAfter is how long the replacement may start without progress before its stopped tasks
	// are read, and the time between such reads.
	hungFor = 30 * time.Second
)

// noteProgress stores what changed and what progressed since the last poll.
func (b *BlueGreen) walk(now time.Time) {
	if print := b.printOf(); print != b.print {
		b.print, b.changed = print, now
	}
	green, _ := b.sets()
	running := 0
	if green != nil {
		running = green.Running + green.Pending
	}
	b.fell, b.ran = running < b.ran, running
	if score := b.score(); score > b.best {
		b.best, b.moved = score, now
	}
	b.urgent = b.fresh(b.Needs(now))
}

// noteRequested stores what was requested.
func (b *BlueGreen) noteAsked(n CodeNeeds, now time.Time) {
	revision := b.asked.Revision || n.Revision
	b.asked = n
	b.asked.Revision = revision
	if n.Fallen {
		b.fallenAt = now
	}
}

// hasNewNeeds reports whether n contains a read that the last poll did not request.
func (b *BlueGreen) fresh(n CodeNeeds) bool {
	return n.Deployment != "" && n.Deployment != b.asked.Deployment ||
		n.Service && !b.asked.Service || n.Fallen && !b.asked.Fallen || n.Revision
}

// progressScore grows as events end, traffic moves and tasks run. A rollback starts a new and
// higher score.
func (b *BlueGreen) score() int {
	score := 0
	for i, l := range []leg{b.main, b.back} {
		if l.d != nil || l.t != nil {
			score += 10_000 * i
		}
		if l.t == nil {
			continue
		}
		for _, e := range l.t.Events {
			switch e.Status {
			case "InProgress":
				score += 500
			case "Succeeded", "Skipped", "Failed":
				score += 1000
			}
		}
		if g := l.t.Green; g != nil && i == 0 {
			score += int(g.Weight) + 2*g.Running
		}
	}
	return score
}

func (b *BlueGreen) printOf() string {
	var s strings.Builder
	for _, l := range []leg{b.main, b.back} {
		if l.d != nil {
			fmt.Fprintln(&s, l.id, l.d.Status, l.d.RollbackID, l.d.Terminating)
		}
		if l.t != nil {
			fmt.Fprintln(&s, l.t.Status)
			for _, e := range l.t.Events {
				fmt.Fprintln(&s, e.Name, e.Status)
			}
			for _, set := range []*CodeSet{l.t.Blue, l.t.Green} {
				if set != nil {
					fmt.Fprintln(&s, *set)
				}
			}
		}
	}
	return s.String()
}

// sawFailure reports whether a task of the replacement stopped, or the replacement does not start
// for a long time.
func (b *BlueGreen) hurt(now time.Time) bool {
	install := b.main.t.Event("Install")
	if install == nil || install.Status != "InProgress" || b.green() == nil || b.main.over() {
		return false
	}
	if b.want.Once {
		return b.fallenAt.IsZero()
	}
	since := now.Sub(b.fallenAt)
	return b.fell && since >= busy || now.Sub(b.moved) >= hungFor && since >= hungFor || b.leading().Count > 0 && since >= nextEvent
}

// nextPoll returns the time until the next poll.
func (b *BlueGreen) next(now time.Time) time.Duration {
	if b.over != nil || b.urgent {
		return 0
	}
	wait := b.rhythm(now)
	if b.want.Timeout > 0 {
		wait = min(wait, max(b.want.Timeout-now.Sub(b.began), 0))
	}
	return wait
}

// pollInterval is long while only time can end the current step, and short where an end is near.
// With four seconds between polls, the median delay after an end is two seconds.
func (b *BlueGreen) rhythm(now time.Time) time.Duration {
	l, still := b.leg(), now.Sub(b.changed)
	switch {
	case l.id == "":
		return idle
	case l.over(), l.lacking() && l.t.Status != "Ready":
		return nearEnd
	case l.finishing():
		return b.toTheEnd(l, still)
	case l.t != nil && l.t.Status == "Ready", b.between():
		return max(nextEvent, min(slow, still/4))
	case still >= 2*time.Minute:
		return slow
	case b.installing():
		return installs
	case b.closing():
		return closes
	}
	return nextEvent
}

// isClosing reports whether all traffic is at the replacement.
func (b *BlueGreen) closing() bool {
	g := b.green()
	return b.back.id == "" && g != nil && g.Weight == 100
}

// isInstalling reports whether the replacement starts and some of its tasks do not run yet.
func (b *BlueGreen) installing() bool {
	e, g := b.main.t.Event("Install"), b.green()
	return e != nil && e.Status == "InProgress" && (g == nil || g.Running < g.Desired) && !b.main.over()
}

// terminationInterval applies when everything is done, but the original task set may be kept for
// minutes. Polls are rare until that time is nearly over.
func (b *BlueGreen) toTheEnd(l *leg, still time.Duration) time.Duration {
	if l.d == nil || l.d.KeepBlue || l.d.Terminate == 0 {
		return nearEnd
	}
	return max(nearEnd, min(l.d.Terminate-still-nextEvent, slow))
}

// isShifting reports whether a part of the traffic is at the replacement; the rest follows as
// configured.
func (b *BlueGreen) between() bool {
	g := b.green()
	return b.back.id == "" && g != nil && g.Weight > 0 && g.Weight < 100
}
