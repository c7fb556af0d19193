package stage

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
)

// tails show what the containers of tasks print. That a log cannot be read is
// told once and ends nothing.
type tails struct {
	vigil  *vigil
	opened map[string][]*tail // by task
	places map[string]string  // by task: where the watched container prints to
}

type tail struct {
	ecs.Tail
	task, container string
	ended           bool // it cannot be read
}

// What comes after the end of a task: CloudWatch Logs takes lines in with a delay
// of seconds that AWS does not bound.
const (
	restLooks = 3
	restApart = 2 * time.Second
)

// read shows what came since the last read.
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

// rest shows what is still to come after the tasks' end.
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

// open finds out where the containers of a task print to, by the definition as
// AWS has it: the plan's may have lost the options of its log drivers.
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

// once tells of a log that cannot be read. An error that stops the stage is
// passed on.
func (t *tails) once(what string, err error) error {
	if err == nil || sluice.KindOf(err) == sluice.Halted {
		return err
	}
	if t.vigil.once(what) {
		t.vigil.warn("what the task prints cannot be read: %v", err)
	}
	return nil
}

// where says how to read what a task printed, or how to look at it.
func (t *tails) where(id string) string {
	if place := t.places[id]; place != "" {
		return place
	}
	return strings.TrimSpace(t.vigil.describe(id))
}

// logCommand prints what a container printed, whenever that was: aws logs tail
// shows no more than the last ten minutes, and the first version of the command
// line has no such command.
func logCommand(p ecs.LogPlace) string {
	place := fmt.Sprintf("--log-group-name %s --log-stream-name %s", p.Group, p.Stream)
	if p.Region != "" {
		place += " --region " + p.Region
	}
	return "aws logs get-log-events " + place + " --start-from-head --query 'events[].[message]' --output text"
}
