package task

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

// logReader shows what the containers of tasks print. A log that cannot be read is reported once and
// does not end the stage.
type logReader struct {
	job          *Job
	streams      map[string][]*logStream // by task
	last         map[string][]string     // by task: the last lines of the watched container
	readCommands map[string]string       // by task: the command that reads the watched container's output
	reported     map[string]bool         // notes and warnings that were shown
}

type logStream struct {
	ecs.Tail
	task, container string
	unreadable      bool // access to it is denied
}

// Reads after the end of a task: CloudWatch Logs ingests lines with a delay of seconds that AWS
// does not bound.
const (
	remainingReads    = 3
	remainingInterval = 2 * time.Second
)

// readNew shows the lines of the tasks since the last read.
func (t *logReader) readNew(ctx context.Context, tasks []string) error {
	for _, id := range tasks {
		if err := t.openStreams(ctx, id); err != nil {
			return err
		}
		for _, l := range t.streams[id] {
			if err := t.emitLines(ctx, l); err != nil {
				return err
			}
		}
	}
	return nil
}

// readRemaining shows the lines that arrive after the tasks' end.
func (t *logReader) readRemaining(ctx context.Context, tasks []string) error {
	if !t.hasReadable() {
		return nil
	}
	for range remainingReads {
		if err := t.job.Pause(ctx, remainingInterval); err != nil {
			return err
		}
		if err := t.readNew(ctx, tasks); err != nil {
			return err
		}
	}
	return nil
}

func (t *logReader) hasReadable() bool {
	for _, all := range t.streams {
		for _, l := range all {
			if !l.unreadable {
				return true
			}
		}
	}
	return false
}

// openStreams finds the log streams of the containers of a task. It uses the definition as AWS
// returns it: the plan's may lack the options of its log drivers.
func (t *logReader) openStreams(ctx context.Context, id string) error {
	if _, known := t.streams[id]; known {
		return nil
	}
	td, err := ecs.ReadDefinition(ctx, t.job.Account.ECS(), t.job.Revision.ARN)
	if err != nil {
		return t.noteReadError("log definition", err)
	}
	if t.streams == nil {
		t.streams, t.readCommands = map[string][]*logStream{}, map[string]string{}
		t.last = map[string][]string{}
	}
	t.streams[id] = []*logStream{}
	for _, o := range ecs.ContainerOutputs(td, id) {
		if o.Err != nil {
			if o.Container == t.job.Watch && t.isFirstTime("log of "+o.Container) {
				t.job.emitNote("output of container %s is not shown: its log cannot be read: %v", o.Container, o.Err)
			}
			continue
		}
		if o.Container == t.job.Watch {
			t.readCommands[id] = logCommand(o.Place)
		}
		t.streams[id] = append(t.streams[id], &logStream{Tail: ecs.Tail{Place: o.Place}, task: id,
			container: o.Container})
	}
	return nil
}

func (t *logReader) emitLines(ctx context.Context, l *logStream) error {
	if l.unreadable {
		return nil
	}
	lines, err := l.Read(ctx, t.job.Account.Logs())
	for _, line := range lines {
		t.job.Emit(sluice.Printed{Task: l.task, Container: l.container, At: line.At, Line: line.Text})
		if l.container == t.job.Watch {
			all := append(t.last[l.task], line.Text)
			t.last[l.task] = all[max(0, len(all)-diagnosis.LogLines):]
		}
	}
	if err != nil && sluice.KindOf(err) == sluice.Denied {
		l.unreadable = true
	}
	return t.noteReadError("log of "+l.container, err)
}

// noteReadError reports once that a log cannot be read. It returns an error only if that stops the
// stage.
func (t *logReader) noteReadError(what string, err error) error {
	if err == nil || sluice.KindOf(err) == sluice.Halted {
		return err
	}
	if t.isFirstTime(what) {
		t.job.Emit(sluice.Warned{Message: fmt.Sprintf("cannot read the output of the task: %v", err)})
	}
	return nil
}

// isFirstTime reports whether it is called with this text for the first time.
func (t *logReader) isFirstTime(what string) bool {
	if t.reported[what] {
		return false
	}
	if t.reported == nil {
		t.reported = map[string]bool{}
	}
	t.reported[what] = true
	return true
}

// adviceFor returns what to do about a task that failed. If the watched container ran, it adds the
// command that reads all its output: its lines were shown, but sluice does not store them.
func (t *logReader) adviceFor(e sluice.TaskEnded, c diagnosis.Cause) string {
	command := t.readCommands[e.Task]
	if end, _ := e.Container(c.Container); command == "" || end.ExitCode == nil {
		return c.Advice()
	}
	return c.NextStep("its complete output: " + command)
}

// logCommand prints all output of a container. `aws logs tail` shows only the last ten minutes, and
// version 1 of the AWS CLI does not have it.
func logCommand(p ecs.LogPlace) string {
	place := fmt.Sprintf("--log-group-name %s --log-stream-name %s", p.Group, p.Stream)
	if p.Region != "" {
		place += " --region " + p.Region
	}
	return "aws logs get-log-events " + place + " --start-from-head --query 'events[].[message]' --output text"
}
