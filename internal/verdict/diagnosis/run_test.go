package diagnosis

import (
	"testing"

	"github.com/sluice-ecs/sluice"
)

func TestExplainRun(t *testing.T) {
	code := func(n int) *int { return &n }
	ended := func(stop string, all ...sluice.ContainerEnded) sluice.TaskEnded {
		return sluice.TaskEnded{Task: "t", StopCode: stop, Reason: "said ECS", Containers: all}
	}
	const exited = "EssentialContainerExited"
	job, side := sluice.ContainerEnded{Name: "job", ExitCode: code(0)},
		sluice.ContainerEnded{Name: "side", ExitCode: code(143)}
	for _, c := range []struct {
		of   sluice.TaskEnded
		want string
	}{
		{ended(exited, job), ""},
		{ended(exited, side, job), ""},
		{ended(exited, sluice.ContainerEnded{Name: "job", ExitCode: code(3)}), "container job exited with 3"},
		{ended(exited, sluice.ContainerEnded{Name: "job", ExitCode: code(127)}),
			"container job exited with 127 (command not found)"},
		{ended(exited, sluice.ContainerEnded{Name: "job", Reason: "OutOfMemoryError: killed", ExitCode: code(1)}),
			"container job exited with 1: OutOfMemoryError: killed"},
		{ended(exited, sluice.ContainerEnded{Name: "job"}, side), "container job never ran"},
		{ended(exited, side), "container job is not in the task"},
		{ended("TaskFailedToStart", sluice.ContainerEnded{Name: "job", Reason: "CannotPullContainerError: x"}),
			"it did not start: CannotPullContainerError: x"},
		{ended("TaskFailedToStart", sluice.ContainerEnded{Name: "job"}), "it did not start: said ECS"},
		{ended("UserInitiated", job), "it was stopped (UserInitiated): said ECS"},
		{ended("SpotInterruption", job), "it was stopped (SpotInterruption): said ECS"},
	} {
		if got, failed := ExplainRun(c.of, "job", nil); got.Text != c.want || failed != (c.want != "") {
			t.Errorf("%+v: %q, want %q", c.of, got.Text, c.want)
		}
	}
}
