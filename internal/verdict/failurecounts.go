package verdict

import "slices"

// failureCounts counts failures by cause. It is a value: its slices are never changed in place.
type failureCounts struct {
	causes      []Cause   // in order of first occurrence
	failedTasks []Stopped // the counted tasks, to recount them when events or logs arrive
	logs        []Log
}

// addFailed counts the tasks that failed.
func (l failureCounts) addFailed(fallen []Stopped, said map[string]string) failureCounts {
	for _, t := range fallen {
		if _, failed := Diagnose(t, said); failed {
			l.failedTasks = append(l.failedTasks[:len(l.failedTasks):len(l.failedTasks)], t)
		}
	}
	return l.recountCauses(said)
}

// addLogs adds the logs; a newer log of a task replaces the older one.
func (l failureCounts) addLogs(logs []Log, said map[string]string) failureCounts {
	if len(logs) == 0 {
		return l
	}
	kept := slices.DeleteFunc(slices.Clone(l.logs), func(old Log) bool {
		return slices.ContainsFunc(logs, func(x Log) bool { return x.Task == old.Task })
	})
	l.logs = append(kept, logs...)
	return l.recountCauses(said)
}

// recountCauses determines the cause of every task again: events and logs that explain a stop may
// arrive after it.
func (l failureCounts) recountCauses(said map[string]string) failureCounts {
	l.causes = nil
	for _, t := range l.failedTasks {
		c, _ := Diagnose(t, said)
		c = l.causeFromLog(c)
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

// causeFromLog corrects the cause from the container's last lines: a program of another
// architecture ends with an ordinary exit code. One log counts for all tasks that ended the same
// way.
func (l failureCounts) causeFromLog(c Cause) Cause {
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

// resetFailures removes all causes, because a task became healthy.
func (l failureCounts) resetFailures() failureCounts {
	l.causes, l.failedTasks = nil, nil
	return l
}

// leadingCause returns the most frequent cause, the first of equals; the zero Cause if there is
// none.
func (l failureCounts) leadingCause() Cause {
	var best Cause
	for _, c := range l.causes {
		if c.Count > best.Count {
			best = c
		}
	}
	return best
}

// rankedCauses returns the causes, the leading one first.
func (l failureCounts) rankedCauses() []Cause {
	all := slices.Clone(l.causes)
	slices.SortStableFunc(all, func(a, b Cause) int { return b.Count - a.Count })
	return all
}
