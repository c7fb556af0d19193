package bluegreen_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// The former version does not start any more. The rollback ends as soon as enough of its tasks have failed. Its
// deployment, for which CodeDeploy would wait for an hour, is stopped, so that callers keep the new version and the
// next deployment can begin.
func TestRollbackToAVersionThatBrokeEndsSoon(t *testing.T) {
	t.Parallel()
	for image, cause := range map[string]string{"sim/web:v1-no-secret": "unable to pull secrets",
		"sim/web:v1-crash-after-5s-exit-4": "exit code 4"} {
		t.Run(cause, func(t *testing.T) {
			t.Parallel()
			for _, wait := range []time.Duration{0, 5 * time.Minute} {
				shifts(t, shop{terminate: wait}, func(b *stagetest.Bench) {
					id := b.Start(shiftFiles(b, "sim/web:v2", ""))
					stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
					b.BreakVersion(1, image)
					end := b.RollBackEnded(id)
					b.ExpectBrokenFormer(end, cause)
					if !strings.HasSuffix(end.Cause, "so sluice stopped it, and callers get the version that it was to replace") {
						b.Errorf("cause: %s", end.Cause)
					}
					if got := b.CallersGet(); got != "v2 200" {
						b.Errorf("callers get %q\n%s", got, b.EventLog())
					}
					if end := b.Deploy(shiftFiles(b, "sim/web:v3", "")); end.Outcome != sluice.Succeeded {
						b.Errorf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
					}
					b.ExpectNoneLost()
				})
			}
		})
	}
}

// The former version works, and its tasks take minutes to start. A rollback to it is not ended before.
func TestRollbackToASlowVersionEndsWell(t *testing.T) {
	t.Parallel()
	shifts(t, shop{}, func(b *stagetest.Bench) {
		id := b.Start(shiftFiles(b, "sim/web:v2", ""))
		stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
		b.BreakVersion(1, "sim/web:v1-start-delay-250s")
		end := b.RollBackEnded(id)
		if got := b.CallersGet(); end.Outcome != sluice.RolledBack || got != "v1 200" {
			b.Errorf("%s: %s; callers get %q\n%s", end.Outcome, end.Cause, got, b.EventLog())
		}
	})
}

// Tasks of the former version failed before the deployment. A rollback to it counts only what fails from then on.
func TestRollbackToAVersionWhoseTasksFailedBefore(t *testing.T) {
	t.Parallel()
	shifts(t, shop{}, func(b *stagetest.Bench) {
		stagetest.Must(b, b.Sim.Inject("task-crash web count=4 exit=137"))
		b.Sleep(4 * time.Minute)
		id := b.Start(shiftFiles(b, "sim/web:v2", ""))
		stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
		end := b.RollBackEnded(id)
		if got := b.CallersGet(); end.Outcome != sluice.RolledBack || got != "v1 200" {
			b.Errorf("%s: %s; callers get %q\n%s", end.Outcome, end.Cause, got, b.EventLog())
		}
	})
}

// The former version serves for seconds, and then fails. Callers get the new one again while its tasks exist. Once
// CodeDeploy has deleted them, to stop the deployment would give callers nothing.
func TestReturnThatFailsAfterItsShift(t *testing.T) {
	t.Parallel()
	for image, want := range map[string]string{"sim/web:v1-oom-after-18s": "v2 200", "sim/web:v1-oom-after-28s": ""} {
		t.Run(image, func(t *testing.T) {
			t.Parallel()
			shifts(t, shop{terminate: 5 * time.Minute}, func(b *stagetest.Bench) {
				id := b.Start(shiftFiles(b, "sim/web:v2", ""))
				stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
				b.BreakVersion(1, image)
				b.ExpectBrokenFormer(b.RollBackEnded(id), "exit code 137")
				if got := b.CallersGet(); want != "" && got != want {
					b.Errorf("callers get %q\n%s", got, b.EventLog())
				}
				stopped := false
				for _, e := range b.Events {
					w, is := e.Open().(sluice.Wrote)
					stopped = stopped || is && w.Operation == "codedeploy:StopDeployment"
				}
				if stopped != (want != "") {
					b.Errorf("stopped: %t\n%s", stopped, b.EventLog())
				}
			})
		})
	}
}
