package stage

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
)

// taskLogs shows what the containers of tasks print. A log that cannot be read is reported once and
// does not end the stage.
type tails struct {
	vigil  *vigil
	opened map[string][]*tail // by task
	places map[string]string  // by task: the command that reads the watched container's output
}

type tail struct {
	ecs.Tail
	task, container string
	ended           bool // access to it is denied
}

// Reads after the end of a task: CloudWatch Logs ingests lines with a delay of seconds that AWS
// does not bound.
const (
	restLooks = 3
	restApart = 2 * time.Second
)

// readNew shows the lines since the last read.
func (t *tails) read(ctx context.Context) error {
	for _, id := range t.vigil.launched.Tasks {
		if s := t.vigil.status[id]; s != "RUNNING" && s != "STOPPED" && s != "DEPROVISIONING" && s != "DEACTIVATING" && s != "STOPPING" {
			continue
		}
		if err := t.open(ctx, id); err != nil {
			return err
		}
		for _, l := range t.opened[id] {
			if err := t.show(ctx, l); err != nil {
				return err
			}
		}
	}
	return nil
}

// readRemaining shows the lines that arrive after the tasks' end.
func (t *tails) rest(ctx context.Context) error {
	if !t.any() {
		return nil
	}
	for range restLooks {
		if err := t.vigil.pause(ctx, restApart); err != nil {
			return err
		}
		if err := t.read(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (t *tails) any() bool {
	for _, all := range t.opened {
		for _, l := range all {
			if !l.ended {
				return true
			}
		}
	}
	return false
}

// openStreams finds the log streams of the containers of a task. It uses the definition as AWS
// returns it: the plan's may lack the options of its log drivers.
func (t *tails) open(ctx context.Context, id string) error {
	if _, known := t.opened[id]; known {
		return nil
	}
	v := t.vigil
	td, err := ecs.Definition(ctx, v.Account.ECS(), v.job.revision.ARN)
	if err != nil {
		return t.once("log definition", err)
	}
	if t.opened == nil {
		t.opened, t.places = map[string][]*tail{}, map[string]string{}
	}
	t.opened[id] = []*tail{}
	for _, o := range ecs.Outputs(td, id) {
		if o.Err != nil {
			if o.Container == v.Watch && v.once("log of "+o.Container) {
				v.note("%v: what it prints is not shown", o.Err)
			}
			continue
		}
		if o.Container == v.Watch {
			t.places[id] = logCommand(o.Place)
		}
		t.opened[id] = append(t.opened[id], &tail{Tail: ecs.Tail{Place: o.Place}, task: id, container: o.Container})
	}
	return nil
}

func (t *tails) show(ctx context.Context, l *tail) error {
	if l.ended {
		return nil
	}
	lines, err := l.Read(ctx, t.vigil.Account.Logs())
	for _, line := range lines {
		t.vigil.Host.Emit(sluice.Printed{Task: l.task, Container: l.container, At: line.At, Line: line.Text})
	}
	if err != nil && sluice.KindOf(err) == sluice.Denied {
		l.ended = true
	}
	return t.once("log of "+l.container, err)
}

// noteReadError reports once that a log cannot be read. It returns an error only if that stops the
// stage.
func (t *tails) once(what string, err error) error {
	if err == nil || sluice.KindOf(err) == sluice.Halted {
		return err
	}
	if t.vigil.once(what) {
		t.vigil.warn("what the task prints cannot be read: %v", err)
	}
	return nil
}

// readCommand is the command that reads what a task printed, or that describes the task.
func (t *tails) where(id string) string {
	if place := t.places[id]; place != "" {
		return place
	}
	return strings.TrimSpace(t.vigil.describe(id))
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
