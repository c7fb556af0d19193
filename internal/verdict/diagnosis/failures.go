package diagnosis

import (
	"slices"
	"time"

	"github.com/sluice-ecs/sluice"
)

// FailAfter is how many failures with one cause end a wait.
const FailAfter = 3

// Failures counts failures by cause. It is a value: its slices are never changed in place. The zero
// value has counted nothing.
type Failures struct {
	causes []Cause  // in order of first occurrence
	tasks  []failed // the counted tasks, to recount them when events or logs arrive
	logs   []Log
	logReads
}

// failed is a task that failed.
type failed struct {
	Stopped
	probe string // the reason of its failed health check, of an event; empty: no event has it
	cause Cause  // by that reason, without logs
}

// AddStopped counts the tasks that failed. events are those of the service.
func (f Failures) AddStopped(stopped []Stopped, events []Event) Failures {
	for _, t := range stopped {
		if c, ok := ExplainStop(t, nil); ok {
			f.tasks = append(f.tasks[:len(f.tasks):len(f.tasks)], failed{Stopped: t, cause: c})
		}
	}
	if len(f.tasks) == 0 {
		return f
	}
	return f.recountCauses(events)
}

// AddLogs adds the logs; a newer log of a task replaces the older one.
func (f Failures) AddLogs(logs []Log, events []Event) Failures {
	if len(logs) == 0 {
		return f
	}
	kept := slices.DeleteFunc(slices.Clone(f.logs), func(old Log) bool {
		return slices.ContainsFunc(logs, func(x Log) bool { return x.Task == old.Task })
	})
	f.logs = append(kept, logs...)
	f = f.recountCauses(events)
	f.logReads = f.logReads.noteLogs(f.causes, logs)
	return f
}

// recountCauses counts the causes again: events and logs that explain a stop may arrive after it. Only tasks with
// another event are explained again: in a day of failing starts there are thousands, and each explanation tries all
// reasons.
func (f Failures) recountCauses(events []Event) Failures {
	f.causes, f.tasks = nil, slices.Clone(f.tasks)
	probes := ProbeReasons(events)
	for i, t := range f.tasks {
		if said := probes[t.ID]; said != t.probe {
			t.probe = said
			t.cause, _ = ExplainStop(t.Stopped, probes)
			f.tasks[i] = t
		}
		c := t.cause
		for _, l := range f.logs { // one log counts for all tasks that ended the same way
			c = c.correctBy(l)
		}
		i := slices.IndexFunc(f.causes, func(have Cause) bool { return have.Text == c.Text })
		if i < 0 {
			c.Count = 1
			f.causes = append(f.causes, c)
			continue
		}
		c.Count = f.causes[i].Count + 1
		f.causes[i] = c
	}
	return f
}

// Reset removes all causes, because the tasks have been stable. Logs are kept.
func (f Failures) Reset() Failures {
	f.causes, f.tasks = nil, nil
	return f
}

// KeepDeaths removes the tasks that never ran, because a task became healthy. It keeps the tasks that ran and then
// stopped by themselves: another healthy task does not show that they will not stop again.
func (f Failures) KeepDeaths(events []Event) Failures {
	f.tasks = slices.DeleteFunc(slices.Clone(f.tasks), func(t failed) bool { return !t.ran() })
	return f.recountCauses(events)
}

// LongestLife returns how long the longest-lived of the tasks that ran and then stopped by themselves has run, by AWS's
// times. ok is false if there is no such task.
func (f Failures) LongestLife() (life time.Duration, ok bool) {
	for _, t := range f.tasks {
		if t.ran() {
			life, ok = max(life, t.StoppedAt.Sub(t.StartedAt)), true
		}
	}
	return life, ok
}

// Count returns the number of counted tasks.
func (f Failures) Count() int { return len(f.tasks) }

// CountSince returns the number of counted tasks that stopped after a time.
func (f Failures) CountSince(at time.Time) (n int) {
	for _, t := range f.tasks {
		if t.StoppedAt.After(at) {
			n++
		}
	}
	return n
}

// Reach reports whether one cause has at least limit failures; a limit of 0 is [FailAfter].
func (f Failures) Reach(limit int) bool {
	if limit <= 0 {
		limit = FailAfter
	}
	return f.Leading().Count >= limit
}

// Leading returns the most frequent cause, the first of equals; the zero Cause if there is none.
func (f Failures) Leading() Cause {
	var best Cause
	for _, c := range f.causes {
		if c.Count > best.Count {
			best = c
		}
	}
	return best
}

// Ranked returns the causes, the leading one first.
func (f Failures) Ranked() []Cause {
	all := slices.Clone(f.causes)
	slices.SortStableFunc(all, func(a, b Cause) int { return b.Count - a.Count })
	return all
}

// AddHints adds causes of kinds that are not in the list yet. They come from events and from the
// first target with a problem, not from stopped tasks.
func AddHints(all, events []Cause, targets []sluice.Target) []Cause {
	for _, c := range events {
		if c.Kind != OtherCause || len(all) == 0 {
			all = AddKind(all, c)
		}
	}
	for _, t := range targets {
		if c, ok := ExplainTarget(t); ok {
			return AddKind(all, c)
		}
	}
	return all
}

// AddKind adds a cause if the list has none of its kind.
func AddKind(all []Cause, c Cause) []Cause {
	if slices.ContainsFunc(all, func(have Cause) bool { return have.Kind == c.Kind }) {
		return all
	}
	return append(all, c)
}
