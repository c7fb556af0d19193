package verdict

import "slices"

// maxEmptyReads is how often sluice reads an empty log again.
const emptyReads = 5

// logReads stores which logs were read. It is a value.
type hearing struct {
	silent []string // containers and causes whose logs were read
	empty  int      // reads of a log that was still empty
}

// NeededLogs returns which logs to read to explain the verdict: the last lines of a failed
// container, once for each cause.
func (r Rollout) Explain() Needs { return Needs{Logs: r.unheard(r.ledger)} }

// unreadTasks returns the failed tasks whose last log lines explain a cause and were not read yet.
func (h hearing) unheard(l ledger) []Stopped {
	var tasks []Stopped
	for _, c := range l.causes {
		if c.Task == "" || c.Container == "" || slices.Contains(h.silent, c.Container+" "+c.Text) {
			continue
		}
		i := slices.IndexFunc(l.fallen, func(t Stopped) bool { return t.ID == c.Task })
		if i >= 0 && l.fallen[i].ExitCode != nil {
			tasks = append(tasks, l.fallen[i])
		}
	}
	return tasks
}

// noteLogs stores which logs were read.
func (h hearing) heard(l ledger, logs []Log) hearing {
	for _, log := range logs {
		if len(log.Lines) == 0 && log.Err == "" && h.empty < emptyReads {
			h.empty++ // output arrives in the log with a delay
			continue
		}
		i := slices.IndexFunc(l.causes, func(c Cause) bool { return c.Task == log.Task })
		if i >= 0 {
			h.silent = append(slices.Clone(h.silent), log.Container+" "+l.causes[i].Text)
		}
	}
	return h
}
