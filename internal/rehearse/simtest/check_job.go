package simtest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/image"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/rehearse"
)

// The checks of a standalone task. They read how tasks ended from the simulated world, because ECS
// stops returning stopped tasks.

// stoppedTaskRetention is how long ECS returns a stopped task, at least.
const stoppedTaskRetention = 50 * time.Minute

// jobTimeout is the maximum time of a stage if the files give none.
const jobTimeout = 6 * time.Hour

// jobTasks returns the tasks that the deployment started, oldest first.
func (f *simulation) jobTasks() (all []*world.Task) {
	for by, tasks := range f.rehearsal.Tasks.ByStarter {
		if strings.HasSuffix(by, "/run") && !strings.HasPrefix(by, plan.IDPrefix+"second") {
			all = append(all, tasks...)
		}
	}
	slices.SortFunc(all, func(a, b *world.Task) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// checkJobEnd checks that the outcome follows from the tasks, that the revision of the files ran,
// and that other resources did not change (P2, P3).
func (f *simulation) checkJobEnd(o sluice.Outcome) {
	f.env.InWorld(func(tx *world.Tx) {
		f.checkJobRevisions(tx, o)
		f.checkJobOutcome(o)
		f.report.Result.State = f.jobStateText(tx) + "; " + f.report.Result.State
	})
}

// checkJobRevisions checks that the files' definition was registered at most once, and that this
// revision ran.
func (f *simulation) checkJobRevisions(tx *world.Tx, o sluice.Outcome) {
	n, most := len(jobRevisions(tx)), 1
	if f.rehearsal.Seconds.Exist() {
		most = 2 // ECS accepts the same definition twice, and a family cannot be claimed
	}
	if n > most || n == 0 && o == sluice.Succeeded {
		f.report.AddViolation("P3", "the task definition was registered %d times", n)
	}
	for _, t := range f.jobTasks() {
		if !isFromFiles(t.Definition) || t.Definition != f.jobTasks()[0].Definition {
			f.report.AddViolation("P3", "task %s ran %s with %s, which is not the revision of the deployment", t.ID,
				t.Definition.Family, t.Definition.Containers[0].Image)
		}
	}
}

func jobRevisions(tx *world.Tx) (all []*world.TaskDefinition) {
	for _, d := range tx.TaskDefinitions.Values() {
		if isFromFiles(d) {
			all = append(all, d)
		}
	}
	return all
}

func isFromFiles(d *world.TaskDefinition) bool {
	return d.Family == rehearse.JobFamily && d.Containers[0].Image == jobImage
}

// checkJobOutcome checks the outcome against the tasks.
func (f *simulation) checkJobOutcome(o sluice.Outcome) {
	tasks, cause := f.jobTasks(), f.report.Result.Cause
	switch o {
	case sluice.Succeeded:
		if n := f.env.Case.Job.TaskCount(); len(tasks) != n {
			f.report.AddViolation("P2", "the deployment succeeded with %d tasks run of %d", len(tasks), n)
		}
		for _, t := range tasks {
			if how := f.jobFailure(t); how != "" {
				f.report.AddViolation("P2", "the deployment succeeded, but task %s %s", t.ID, how)
			}
		}
		if f.env.Case.StepsFail() {
			f.report.AddViolation("P2", "the deployment succeeded, but one of its steps failed")
		}
	case sluice.Failed:
		f.checkJobCause(tasks)
	case sluice.Stopped, sluice.RolledBack:
		if !f.env.Case.HasIntervention(rehearse.Abort) && !f.env.Case.HasIntervention(rehearse.Rollback) {
			f.report.AddViolation("P2", "the deployment ended %s without a request: %s", o, cause)
		}
	case sluice.Stalled:
	default:
		f.report.AddViolation("P2", "the deployment ended %s: %s", o, cause)
	}
	if must := f.expectedJobOutcome(); o != must && !f.hasJobExcuse() {
		f.report.AddViolation("P2", "the deployment ended %s, want %s: %s", o, must, cause)
	}
}

// jobFailure returns how a task failed, or "" after a success.
func (f *simulation) jobFailure(t *world.Task) string {
	if t.LastStatus != "STOPPED" {
		return "is " + t.LastStatus
	}
	if t.StopCode != "EssentialContainerExited" {
		return "was stopped: " + t.StopCode
	}
	for _, c := range t.Containers {
		if c.Spec.Name == watchedContainer(f.env.Case.Job) && c.ExitCode != nil {
			if *c.ExitCode == 0 {
				return ""
			}
			return fmt.Sprintf("exited with %d", *c.ExitCode)
		}
	}
	return "never ran"
}

// checkJobCause checks that the cause of a failure names each failed task with its exit code (P6).
func (f *simulation) checkJobCause(tasks []*world.Task) {
	cause, failed := f.report.Result.Cause, 0
	for _, t := range tasks {
		how := f.jobFailure(t)
		if how == "" {
			continue
		}
		failed++
		if strings.HasPrefix(how, "exited") &&
			!strings.Contains(cause, t.ID+": container "+watchedContainer(f.env.Case.Job)+" "+how) &&
			!f.lacksTaskResults() {
			f.report.AddViolation("P6", "task %s %s, and the cause does not name that: %s", t.ID, how, cause)
		}
	}
	if failed == 0 && !f.env.Case.StepsFail() && !f.lacksTaskResults() && !f.endTogether() &&
		!strings.Contains(cause, "ECS had no capacity") {
		f.report.AddViolation("P2", "the deployment failed, but no task failed: %s", cause)
	}
}

// gaveUpPattern matches the cause after a call that failed at every attempt.
var gaveUpPattern = regexp.MustCompile(`at attempt \d`)

// lacksTaskResults reports whether AWS did not return the results of the tasks. Either it did not
// answer, or sluice was stopped for longer than AWS keeps them.
func (f *simulation) lacksTaskResults() bool {
	cause := f.report.Result.Cause
	return f.rehearsal.Ends.WasUnanswered() || f.env.Case.HasFault("lost-reply", "5xx", "no-send", "throttle") &&
		gaveUpPattern.MatchString(cause) ||
		strings.Contains(cause, "cannot determine") &&
			f.env.Case.RestartDelay*time.Duration(len(f.env.Case.Kills)) >= stoppedTaskRetention
}

// endTogether reports whether containers of a task may end between two polls, a failed one among them: no read shows
// then which one ended first, and AWS gives no times of containers. While ECS's answers are lost, or no process runs,
// nobody reads the tasks.
func (f *simulation) endTogether() bool {
	unread := 2 * time.Second
	if f.env.Case.HasFault("outage", "lost-reply ecs:RunTask", "lost-reply ecs:DescribeTasks",
		"lost-reply ecs:*", "lost-reply *") {
		unread = time.Hour
	}
	if len(f.env.Case.Kills) > 0 {
		unread = max(unread, f.env.Case.RestartDelay)
	}
	for _, t := range f.jobTasks() {
		var ends []time.Duration
		failed := false
		for _, c := range t.Containers {
			if c.Behaviour.CrashAfter > 0 {
				ends, failed = append(ends, c.Behaviour.CrashAfter), failed || c.ExitCode != nil && *c.ExitCode != 0
			}
		}
		if failed && len(ends) > 1 && slices.Max(ends)-slices.Min(ends) < unread {
			return true
		}
	}
	return false
}

// hasJobExcuse reports whether anything else in the case than the tasks decides the outcome.
func (f *simulation) hasJobExcuse() bool {
	// a later process may see it run
	late := f.parseOptions(f.env.Case.Job.Does).StartDelay > progressDeadline(*f.env.Case) &&
		(f.env.Case.RestartDelay > 0 || f.rehearsal.Deployment.WasPaused)
	// the time without a process counts for the timeout of the stage
	away := f.env.Case.RestartDelay * time.Duration(len(f.env.Case.Kills))
	late = late || away > 0 && away+f.parseOptions(f.env.Case.Job.Does).CrashAfter > jobTimeout
	return late || f.lacksTaskResults() || f.endTogether() || f.env.Case.HasIntervention(rehearse.Abort) ||
		f.env.Case.HasIntervention(rehearse.Rollback) ||
		f.env.Case.HasIntervention(rehearse.StopTask) ||
		f.env.Case.HasFault("no-capacity")
}

// expectedJobOutcome returns the outcome without interference.
func (f *simulation) expectedJobOutcome() sluice.Outcome {
	after, _ := afterOptions(*f.env.Case)
	for _, x := range []struct{ does, container string }{{f.env.Case.Before, rehearse.StepBefore},
		{f.jobTaskOptions(), watchedContainer(f.env.Case.Job)}, {after, rehearse.StepAfter}} {
		if x.does == "" {
			continue
		}
		if o := f.taskOutcome(x.does, x.container); o != sluice.Succeeded {
			return o
		}
	}
	return sluice.Succeeded
}

// jobTaskOptions returns what the task does, or "" if no task runs.
func (f *simulation) jobTaskOptions() string {
	if f.env.Case.Job.Only {
		return ""
	}
	return f.env.Case.Job.Does
}

// taskOutcome returns the outcome of a task by its options and the watched container.
func (f *simulation) taskOutcome(does, watched string) sluice.Outcome {
	first := f.parseOptions(does)
	watches := first
	if watched == jobSidecar {
		watches = f.parseOptions(f.env.Case.Job.Side)
	}
	switch {
	case first.NoBoot != "":
		return sluice.Failed
	case first.StartDelay > progressDeadline(*f.env.Case), first.CrashAfter > jobTimeout:
		return sluice.Stalled
	case watches.ExitCode != 0:
		return sluice.Failed
	}
	return sluice.Succeeded
}

func (f *simulation) parseOptions(options string) image.Behaviour {
	b, err := image.Parse("sim/job:v1?" + options)
	if err != nil {
		f.report.Fail("%s: %v", options, err)
	}
	return b
}

// jobStateText returns the state of the tasks and revisions.
func (f *simulation) jobStateText(tx *world.Tx) string {
	ends := map[string]int{}
	for _, t := range f.jobTasks() {
		how := f.jobFailure(t)
		if how == "" {
			how = "ended with exit code 0"
		}
		ends[how]++
	}
	var parts []string
	for how, n := range ends {
		parts = append(parts, fmt.Sprintf("%d of %d tasks %s", n, f.env.Case.Job.TaskCount(), how))
	}
	slices.Sort(parts)
	parts = append(parts, fmt.Sprintf("%d revisions", len(jobRevisions(tx))))
	return strings.Join(parts, "; ")
}

// stopTask is a person who stops a running task.
func (f *simulation) stopTask() {
	id := ""
	f.env.InWorld(func(*world.Tx) {
		for _, t := range f.jobTasks() {
			if t.DesiredStatus == "RUNNING" {
				id = t.ID
			}
		}
	})
	if id != "" {
		f.env.CallECS("StopTask", map[string]any{"cluster": f.env.Case.World.Cluster, "task": id})
	}
}

// registerRevision is a person who registers another revision of the family.
func (f *simulation) registerRevision() {
	if err := f.registerAs(otherRevisionImage); err != nil {
		f.report.LogLine("outside: %v", err) // faults of AWS affect other actors too
	}
}
