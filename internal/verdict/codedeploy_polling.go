package verdict

import (
	"fmt"
	"strings"
	"time"
)

// codePolling stores how a CodeDeploy deployment progresses, which determines the time of the next
// poll. It also stores what was requested.
type codePolling struct {
	fingerprint   string    // of the last poll: everything that counts as a change
	changedAt     time.Time // when the fingerprint last changed
	progressAt    time.Time // progress
	bestScore     int       // most progress
	lastRunning   int       // tasks of the replacement that ran at the last poll
	lastTasks     int       // those that ran or started
	lostTasks     bool      // one of both is fewer than at the previous poll
	polls         int
	stoppedReadAt time.Time // when stopped tasks were read last
	requested     CodeNeeds // the last request; Revision: whether it was ever requested
	isUrgent      bool      // the poll requires another read immediately
}

const (
	// firstPollAfter is how long a new deployment shows no change: CodeDeploy takes seconds for its
	// first step.
	firstPollAfter = 8 * time.Second
	// eventInterval is the time between polls during a lifecycle event that may end the deployment.
	// installInterval applies while its tasks start, since other events follow. closingInterval
	// applies once all traffic is moved. endInterval applies when only the final status is missing.
	eventInterval, installInterval, closingInterval, endInterval = 4 * time.Second, 6 * time.Second, 3 * time.Second,
		2 * time.Second
	// slowInterval applies to what takes minutes by design: a wait for a person, traffic steps,
	// tasks that do not start, an original task set that is kept.
	slowInterval = 10 * time.Second
	// stuckAfter is how long the replacement may start without progress before its stopped tasks
	// are read, and the time between such reads.
	stuckAfter = 30 * time.Second
)

// noteProgress stores what changed and what progressed since the last poll.
func (b *CodeDeployFollower) noteProgress(now time.Time) {
	if print := b.fingerprintOf(); print != b.fingerprint {
		b.fingerprint, b.changedAt = print, now
	}
	running, pending, _ := b.greenCounts()
	b.lostTasks = running < b.lastRunning || running+pending < b.lastTasks
	b.lastRunning, b.lastTasks = running, running+pending
	if score := b.progressScore(); score > b.bestScore {
		b.bestScore, b.progressAt = score, now
	}
	b.isUrgent = b.hasNewNeeds(b.Needs(now))
}

// noteRequested stores what was requested.
func (b *CodeDeployFollower) noteRequested(n CodeNeeds, now time.Time) {
	revision := b.requested.Revision || n.Revision
	b.requested = n
	b.requested.Revision = revision
	if n.StoppedTasks {
		b.stoppedReadAt = now
		b.starts = max(b.starts, b.unreadStarts())
	}
}

// hasNewNeeds reports whether n contains a read that the last poll did not request.
func (b *CodeDeployFollower) hasNewNeeds(n CodeNeeds) bool {
	return n.Deployment != "" && n.Deployment != b.requested.Deployment ||
		n.Service && !b.requested.Service || n.StoppedTasks && !b.requested.StoppedTasks || n.Revision
}

// progressScore grows as events end, traffic moves and tasks run. A rollback starts a new and
// higher score.
func (b *CodeDeployFollower) progressScore() int {
	score := 0
	for i, l := range []trackedDeployment{b.main, b.rollback} {
		if l.deployment != nil || l.target != nil {
			score += 10_000 * i
		}
		if l.target == nil {
			continue
		}
		for _, e := range l.target.Events {
			switch e.Status {
			case "InProgress":
				score += 500
			case "Succeeded", "Skipped", "Failed":
				score += 1000
			}
		}
		if g := l.target.Green; g != nil && i == 0 {
			score += int(g.Weight) + 2*g.Running
		}
	}
	return score
}

func (b *CodeDeployFollower) fingerprintOf() string {
	var s strings.Builder
	for _, l := range []trackedDeployment{b.main, b.rollback} {
		if l.deployment != nil {
			fmt.Fprintln(&s, l.id, l.deployment.Status, l.deployment.RollbackID, l.deployment.Terminating)
		}
		if l.target != nil {
			fmt.Fprintln(&s, l.target.Status)
			for _, e := range l.target.Events {
				fmt.Fprintln(&s, e.Name, e.Status)
			}
			for _, set := range []*CodeSet{l.target.Blue, l.target.Green} {
				if set != nil {
					fmt.Fprintln(&s, *set)
				}
			}
		}
	}
	return s.String()
}

// sawFailure reports whether a task of the replacement stopped, at any time until the wait ends, or the replacement does
// not start for a long time.
func (b *CodeDeployFollower) sawFailure(now time.Time) bool {
	if b.greenSet() == nil || b.rollback.id != "" || b.main.isOver() && !b.main.hasSucceeded() {
		return false
	}
	since := now.Sub(b.stoppedReadAt)
	_, pending, _ := b.greenCounts()
	isReplaced := b.surplus && pending == 0 // ECS stops the former task when the one in its place is healthy
	if !b.want.ReadOnce && ((b.lostTasks || isReplaced) && since >= busyInterval || b.unreadStarts() > 0 ||
		b.failures.Leading().Count > 0 && since >= eventInterval) {
		return true
	}
	install := b.main.target.Event("Install")
	if install == nil || install.Status != "InProgress" || b.main.isOver() {
		return false
	}
	if b.want.ReadOnce {
		return b.stoppedReadAt.IsZero()
	}
	return now.Sub(b.progressAt) >= stuckAfter && since >= stuckAfter
}

// nextPoll returns the time until the next poll.
func (b *CodeDeployFollower) nextPoll(now time.Time) time.Duration {
	if b.conclusion != nil || b.isUrgent {
		return 0
	}
	wait := b.pollInterval(now)
	if end := b.Limit(); !end.IsZero() {
		wait = min(wait, max(end.Sub(now), 0))
	}
	return wait
}

// pollInterval is long while only time can end the current step, and short where an end is near.
// With four seconds between polls, the median delay after an end is two seconds.
func (b *CodeDeployFollower) pollInterval(now time.Time) time.Duration {
	l, still := b.currentDeployment(), now.Sub(b.changedAt)
	switch {
	case l.id == "":
		return idleInterval
	case b.hold.time > 0:
		return min(stableInterval, b.hold.time)
	case l.isOver(), l.needsDeployment() && l.target.Status != "Ready":
		return endInterval
	case l.isFinishing():
		return b.terminationInterval(l, still)
	case l.target != nil && l.target.Status == "Ready", b.isShifting():
		return max(eventInterval, min(slowInterval, still/4))
	case still >= 2*time.Minute:
		return slowInterval
	case b.isInstalling():
		return installInterval
	case b.isClosing():
		return closingInterval
	}
	return eventInterval
}

// isClosing reports whether all traffic is at the replacement.
func (b *CodeDeployFollower) isClosing() bool {
	g := b.greenSet()
	return b.rollback.id == "" && g != nil && g.Weight == 100
}

// isInstalling reports whether the replacement starts and some of its tasks do not run yet.
func (b *CodeDeployFollower) isInstalling() bool {
	e, g := b.main.target.Event("Install"), b.greenSet()
	return e != nil && e.Status == "InProgress" && (g == nil || g.Running < g.Desired) && !b.main.isOver()
}

// terminationInterval applies when everything is done, but the original task set may be kept for
// minutes. Polls are rare until that time is nearly over.
func (b *CodeDeployFollower) terminationInterval(l *trackedDeployment, still time.Duration) time.Duration {
	if l.deployment == nil || l.deployment.KeepBlue || l.deployment.Terminate == 0 ||
		b.want.EndsTermination && still < decisionWait {
		return endInterval
	}
	return max(endInterval, min(l.deployment.Terminate-still-eventInterval, slowInterval))
}

// isShifting reports whether a part of the traffic is at the replacement; the rest follows as
// configured.
func (b *CodeDeployFollower) isShifting() bool {
	g := b.greenSet()
	return b.rollback.id == "" && g != nil && g.Weight > 0 && g.Weight < 100
}
