package verdict

import "slices"

// emptyReads is how often a log that is still empty is read again.
const emptyReads = 5

// hearing is whose last lines were read. It is a value.
type hearing struct {
	silent []string // containers and causes whose logs were read
	empty  int      // readings of a log that held nothing yet
}

// Explain is what to read to explain what was judged: the last lines of a
// container that failed, once for each cause.
func (r Rollout) Explain() Needs { return Needs{Logs: r.unheard(r.ledger)} }

// unheard are the failed tasks whose last lines explain a cause and were not read.
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

// heard notes the logs that were read.
func (h hearing) heard(l ledger, logs []Log) hearing {
	for _, log := range logs {
		if len(log.Lines) == 0 && log.Err == "" && h.empty < emptyReads {
			h.empty++ // what was printed arrives a moment later
			continue
		}
		i := slices.IndexFunc(l.causes, func(c Cause) bool { return c.Task == log.Task })
		if i >= 0 {
			h.silent = append(slices.Clone(h.silent), log.Container+" "+l.causes[i].Text)
		}
	}
	return h
}
