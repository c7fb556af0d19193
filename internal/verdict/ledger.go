package verdict

import "slices"

// ledger counts failures by cause. It is a value: its slices are never written
// in place.
type ledger struct {
	causes []Cause   // in order of first sight
	fallen []Stopped // those counted, so that what is learnt later can be added
	logs   []Log
}

// add counts the tasks that failed.
func (l ledger) add(fallen []Stopped, said map[string]string) ledger {
	for _, t := range fallen {
		if _, failed := Diagnose(t, said); failed {
			l.fallen = append(l.fallen[:len(l.fallen):len(l.fallen)], t)
		}
	}
	return l.recount(said)
}

// hear adds the logs, newest wins.
func (l ledger) hear(logs []Log, said map[string]string) ledger {
	if len(logs) == 0 {
		return l
	}
	kept := slices.DeleteFunc(slices.Clone(l.logs), func(old Log) bool {
		return slices.ContainsFunc(logs, func(x Log) bool { return x.Task == old.Task })
	})
	l.logs = append(kept, logs...)
	return l.recount(said)
}

// recount tells every task's cause anew: events and logs that explain an end
// may come after it.
func (l ledger) recount(said map[string]string) ledger {
	l.causes = nil
	for _, t := range l.fallen {
		c, _ := Diagnose(t, said)
		c = l.overheard(c)
		i := slices.IndexFunc(l.causes, func(have Cause) bool { return have.Text == c.Text })
		if i < 0 {
			c.Count = 1
			l.causes = append(l.causes, c)
			continue
		}
		c.Count = l.causes[i].Count + 1
		l.causes[i] = c
	}
	return l
}

// overheard is the cause as the container's last words tell it: a program of
// another architecture ends with an ordinary exit code. One log speaks for all
// tasks that ended alike.
func (l ledger) overheard(c Cause) Cause {
	if c.Kind != ExitCode {
		return c
	}
	for _, log := range l.logs {
		if log.Container != c.Container {
			continue
		}
		for _, line := range log.Lines {
			if kindOf(line) == ExecFormat {
				c.Kind = ExecFormat
			}
		}
	}
	return c
}

// forgive forgets the causes: a task got healthy.
func (l ledger) forgive() ledger {
	l.causes, l.fallen = nil, nil
	return l
}

// leading is the most frequent cause, the first of equals; the zero Cause if
// there is none.
func (l ledger) leading() Cause {
	var best Cause
	for _, c := range l.causes {
		if c.Count > best.Count {
			best = c
		}
	}
	return best
}

// ranked are the causes with the leading one first.
func (l ledger) ranked() []Cause {
	all := slices.Clone(l.causes)
	slices.SortStableFunc(all, func(a, b Cause) int { return b.Count - a.Count })
	return all
}
