package verdict

import (
	"fmt"
	"strings"
	"time"
)

// codePace is how a CodeDeploy deployment moves, which says when to look again, and
// what was asked for.
type codePace struct {
	print    string    // of the last look: all that counts as a change
	changed  time.Time // the print differed
	moved    time.Time // progress
	best     int       // most progress
	ran      int       // tasks of the replacement that ran or started at the last look
	fell     bool      // they are fewer than at the look before
	looks    int
	fallenAt time.Time // when stopped tasks were read last
	asked    CodeNeeds // all that was ever asked for once
	urgent   bool      // the look made something else worth reading at once
}

const (
	// firstLook is how long nothing is to be seen of a new deployment: CodeDeploy
	// takes seconds for its first step.
	firstLook = 8 * time.Second
	// nextEvent is between looks while a lifecycle event is under way with which the
	// deployment may end; installs while its tasks start, after which there are
	// others; closes once all traffic is moved; nearEnd when only the status is
	// missing.
	nextEvent, installs, closes, nearEnd = 4 * time.Second, 6 * time.Second, 3 * time.Second, 2 * time.Second
	// slow is for what takes minutes by its nature: a wait for a person, steps of
	// traffic, tasks that do not start, an original task set that is kept.
	slow = 10 * time.Second
	// hungFor is how long the replacement may start without any movement before its
	// stopped tasks are read, and how often.
	hungFor = 30 * time.Second
)

// walk notes what changed and what is progress since the last look.
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

// noteAsked keeps what was asked for.
func (b *BlueGreen) noteAsked(n CodeNeeds, now time.Time) {
	revision := b.asked.Revision || n.Revision
	b.asked = n
	b.asked.Revision = revision
	if n.Fallen {
		b.fallenAt = now
	}
}

// fresh reports whether n has something that was not asked for at the last look.
func (b *BlueGreen) fresh(n CodeNeeds) bool {
	return n.Deployment != "" && n.Deployment != b.asked.Deployment ||
		n.Service && !b.asked.Service || n.Fallen && !b.asked.Fallen || n.Revision
}

// score grows as events end, traffic moves and tasks run. A rollback counts anew
// and higher.
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

// hurt: a task of the replacement ended, or it does not start for long.
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

// next is when to look again.
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

// rhythm is seldom while only time can end what is under way, and often where an
// end is near. With four seconds between looks an end is seen two seconds after it,
// in the median.
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

// closing: all traffic is at the replacement, or goes there at once.
func (b *BlueGreen) closing() bool {
	g := b.green()
	return b.back.id == "" && g != nil && g.Weight == 100
}

// installing: the replacement starts, and has not got all its tasks.
func (b *BlueGreen) installing() bool {
	e, g := b.main.t.Event("Install"), b.green()
	return e != nil && e.Status == "InProgress" && (g == nil || g.Running < g.Desired) && !b.main.over()
}

// toTheEnd: all is done but the original task set may be kept for minutes. It is
// looked at seldom until that should be over.
func (b *BlueGreen) toTheEnd(l *leg, still time.Duration) time.Duration {
	if l.d == nil || l.d.KeepBlue || l.d.Terminate == 0 {
		return nearEnd
	}
	return max(nearEnd, min(l.d.Terminate-still-nextEvent, slow))
}

// between: part of the traffic is at the replacement, the rest follows as configured.
func (b *BlueGreen) between() bool {
	g := b.green()
	return b.back.id == "" && g != nil && g.Weight > 0 && g.Weight < 100
}
