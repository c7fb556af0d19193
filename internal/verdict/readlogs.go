package verdict

import "slices"

// maxEmptyReads is how often sluice reads an empty log again.
const maxEmptyReads = 5

// logReads stores which logs were read. It is a value.
type logReads struct {
	readKeys   []string // containers and causes whose logs were read
	emptyCount int      // reads of a log that was still empty
}

// NeededLogs returns which logs to read to explain the verdict: the last lines of a failed
// container, once for each cause.
func (r ServiceFollower) NeededLogs() Needs { return Needs{Logs: r.unreadTasks(r.failureCounts)} }

// unreadTasks returns the failed tasks whose last log lines explain a cause and were not read yet.
func (h logReads) unreadTasks(l failureCounts) []Stopped {
	var tasks []Stopped
	for _, c := range l.causes {
		if c.Task == "" || c.Container == "" || slices.Contains(h.readKeys, c.Container+" "+c.Text) {
			continue
		}
		i := slices.IndexFunc(l.failedTasks, func(t Stopped) bool { return t.ID == c.Task })
		if i >= 0 && l.failedTasks[i].ExitCode != nil {
			tasks = append(tasks, l.failedTasks[i])
		}
	}
	return tasks
}

// noteLogs stores which logs were read.
func (h logReads) noteLogs(l failureCounts, logs []Log) logReads {
	for _, log := range logs {
		if len(log.Lines) == 0 && log.Err == "" && h.emptyCount < maxEmptyReads {
			h.emptyCount++ // output arrives in the log with a delay
			continue
		}
		i := slices.IndexFunc(l.causes, func(c Cause) bool { return c.Task == log.Task })
		if i >= 0 {
			h.readKeys = append(slices.Clone(h.readKeys), log.Container+" "+l.causes[i].Text)
		}
	}
	return h
}
