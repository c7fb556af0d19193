package diagnosis

import "slices"

// LogLines is how many of the last lines of a failed container explain its end.
const LogLines = 10

// Log is the end of a container's output, or the reason why it cannot be read.
type Log struct {
	Task, Container string
	Place           string // log group, and stream
	Lines           []string
	Err             string // why there are none
}

// Unread returns what could not be read, and why; empty if the log was read.
func (l Log) Unread() string {
	if l.Err == "" {
		return ""
	}
	return "log of container " + l.Container + ": " + l.Err
}

// NoteUnread adds texts that are not in the list and not empty.
func NoteUnread(list []string, texts ...string) []string {
	for _, text := range texts {
		if text != "" && !slices.Contains(list, text) {
			list = append(slices.Clone(list), text)
		}
	}
	return list
}

// correctBy corrects the cause from the container's last lines: a program of another architecture
// ends with an ordinary exit code.
func (c Cause) correctBy(l Log) Cause {
	if c.Kind == ExitCode && c.Container == l.Container &&
		slices.ContainsFunc(l.Lines, func(line string) bool { return isExecFormat(line) }) {
		c.Kind = ExecFormat
	}
	return c
}

// isExecFormat reports whether a line is of a program of another architecture.
func isExecFormat(line string) bool {
	return slices.ContainsFunc(runReasons, func(r reason) bool {
		return r.kind == ExecFormat && r.match().MatchString(line)
	})
}

// Logs returns the logs that were added.
func (f Failures) Logs() []Log { return f.logs }

// maxEmptyReads is how often sluice reads an empty log again.
const maxEmptyReads = 5

// logReads stores which logs were read. It is a value.
type logReads struct {
	readKeys   []string // containers and causes whose logs were read
	emptyCount int      // reads of a log that was still empty
}

// NeededLogs returns the failed tasks whose last log lines explain a cause and were not read yet:
// one task for each cause.
func (f Failures) NeededLogs() []Stopped {
	var tasks []Stopped
	for _, c := range f.causes {
		if c.Task == "" || c.Container == "" || slices.Contains(f.readKeys, c.Container+" "+c.Text) {
			continue
		}
		i := slices.IndexFunc(f.tasks, func(t failed) bool { return t.ID == c.Task })
		if i >= 0 && f.tasks[i].ExitCode != nil {
			tasks = append(tasks, f.tasks[i].Stopped)
		}
	}
	return tasks
}

// noteLogs stores which logs were read.
func (h logReads) noteLogs(causes []Cause, logs []Log) logReads {
	for _, log := range logs {
		if len(log.Lines) == 0 && log.Err == "" && h.emptyCount < maxEmptyReads {
			h.emptyCount++ // output arrives in the log with a delay
			continue
		}
		i := slices.IndexFunc(causes, func(c Cause) bool { return c.Task == log.Task })
		if i >= 0 {
			h.readKeys = append(slices.Clone(h.readKeys), log.Container+" "+causes[i].Text)
		}
	}
	return h
}
