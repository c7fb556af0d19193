package piped_test

import (
	"context"
	"strings"
	"testing"
)

// A cancelled stage of a standalone task says that its task runs on, and so does the rollback.
func TestCancelledStandaloneTaskRunsOn(t *testing.T) {
	t.Parallel()
	r := newRig(t, external+quick)
	d := r.begin(source{image: "sim/web:v1"}, source{app: standalone(), task: jobFile(), image: "sim/web:v1"})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s := d.Stages[0]
	r.onLine(s.GetId(), "ecs:RunTask", func(string) { cancel() })
	if _, err := d.execute(ctx, s); err == nil {
		t.Fatal("the stage was not cancelled")
	}
	endWithServer(t, "the log of the stage to end", func() bool { return r.piped.completeLog(s.GetId()) == nil })
	if log := r.piped.text(s.GetId()); !strings.Contains(log, "a task that was started runs on, and the rollback does not stop it") ||
		strings.Contains(log, "undoes it") {
		t.Errorf("log:\n%s", log)
	}
	d.run(d.back())
	if log := r.piped.text(d.back().GetId()); !strings.Contains(log, "a task that was started runs to its end") {
		t.Errorf("log of the rollback:\n%s", log)
	}
}

// The page shows no count of healthy targets where none is read.
func TestDisplayWithoutTargets(t *testing.T) {
	t.Parallel()
	r := newRig(t, pausedRule)
	file := strings.Replace(pausedFile, "  lifecycleHooks:\n    - {targetType: PAUSE, lifecycleStages: [POST_TEST_TRAFFIC_SHIFT]}\n", "", 1)
	app := pausedApp()
	app.service = file
	d := r.begin(app, app)
	d.all()
	if text := r.piped.displayed(d.Stages[0].GetId()); text == "" || strings.Contains(text, "0 healthy") {
		t.Errorf("displayed %q", text)
	}
}
