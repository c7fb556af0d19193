package rehearse

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
)

// What must hold of a task by itself. The tasks themselves are asked how they ended,
// as the world had them: ECS forgets them.

// forgetsAfter is how long ECS remembers what has stopped, at least.
const forgetsAfter = 50 * time.Minute

// jobTimeout is how long a stage may last, if the files do not say.
const jobTimeout = 6 * time.Hour

// jobTasks are the tasks that the deployment started, oldest first.
func (f *field) jobTasks() (all []*world.Task) {
	for by, tasks := range f.ran {
		if strings.HasSuffix(by, "/run") && !strings.HasPrefix(by, plan.IDPrefix+"second") {
			all = append(all, tasks...)
		}
	}
	slices.SortFunc(all, func(a, b *world.Task) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// jobEnded: the outcome is what the tasks came to; the revision of the files ran, and
// nothing else was changed (P2, P3).
func (f *field) jobEnded(o sluice.Outcome) {
	f.stands(false)
	f.scaledAsBefore()
	f.result.State = f.state()
	f.inWorld(func(tx *world.Tx) {
		f.jobRegistered(tx, o)
		f.jobJudged(o)
		f.result.State = f.jobState(tx) + "; " + f.result.State
	})
}

// jobRegistered: one revision of the files at most, and it is the one that ran.
func (f *field) jobRegistered(tx *world.Tx, o sluice.Outcome) {
	n, most := len(jobRevisions(tx)), 1
	if f.second1() {
		most = 2 // ECS takes the same twice, and nothing of a family can be claimed
	}
	if n > most || n == 0 && o == sluice.Succeeded {
		f.violate("P3", "the task definition was registered %d times", n)
	}
	for _, t := range f.jobTasks() {
		if !isOfFiles(t.Definition) || t.Definition != f.jobTasks()[0].Definition {
			f.violate("P3", "task %s ran %s with %s, which is not the revision of the deployment", t.ID, t.Definition.Family, t.Definition.Containers[0].Image)
		}
	}
}

func jobRevisions(tx *world.Tx) (all []*world.TaskDefinition) {
	for _, d := range tx.TaskDefinitions.Values() {
		if isOfFiles(d) {
			all = append(all, d)
		}
	}
	return all
}

func isOfFiles(d *world.TaskDefinition) bool {
	return d.Family == jobFamily && d.Containers[0].Image == jobImage
}

// jobJudged holds the outcome against the tasks.
func (f *field) jobJudged(o sluice.Outcome) {
	tasks, cause := f.jobTasks(), f.result.Cause
	switch o {
	case sluice.Succeeded:
		if n := f.Job.times(); len(tasks) != n {
			f.violate("P2", "it succeeded with %d tasks run of %d", len(tasks), n)
		}
		for _, t := range tasks {
			if how := f.jobFailure(t); how != "" {
				f.violate("P2", "it succeeded though task %s %s", t.ID, how)
			}
		}
		if f.stepsFail() {
			f.violate("P2", "it succeeded though a step of it failed")
		}
	case sluice.Failed:
		f.jobNamed(tasks)
	case sluice.Stopped, sluice.RolledBack:
		if !f.excuses(Abort) && !f.excuses(Rollback) {
			f.violate("P2", "it ended %s, which nobody asked for: %s", o, cause)
		}
	case sluice.Stalled:
	default:
		f.violate("P2", "it ended %s: %s", o, cause)
	}
	if must := f.jobMust(); o != must && !f.jobExcused() {
		f.violate("P2", "it ended %s, and must have %s: %s", o, must, cause)
	}
}

// jobFailure is how a task ended that is no success.
func (f *field) jobFailure(t *world.Task) string {
	if t.LastStatus != "STOPPED" {
		return "is " + t.LastStatus
	}
	if t.StopCode != "EssentialContainerExited" {
		return "was stopped: " + t.StopCode
	}
	for _, c := range t.Containers {
		if c.Spec.Name == f.Job.watched() && c.ExitCode != nil {
			if *c.ExitCode == 0 {
				return ""
			}
			return fmt.Sprintf("exited with %d", *c.ExitCode)
		}
	}
	return "never ran"
}

// jobNamed: the cause of a failure is the tasks', with their exit codes, and each is
// named (P6).
func (f *field) jobNamed(tasks []*world.Task) {
	cause, failed := f.result.Cause, 0
	for _, t := range tasks {
		how := f.jobFailure(t)
		if how == "" {
			continue
		}
		failed++
		if strings.HasPrefix(how, "exited") && !strings.Contains(cause, t.ID+": container "+f.Job.watched()+" "+how) && !f.untold() {
			f.violate("P6", "task %s %s, which the cause does not say: %s", t.ID, how, cause)
		}
	}
	if failed == 0 && !f.stepsFail() && !f.untold() && !strings.Contains(cause, "ECS had no room") {
		f.violate("P2", "it failed though no task did: %s", cause)
	}
}

// givenUp is what the cause says where AWS answered a call no better however often it
// was made.
var givenUp = regexp.MustCompile(`at attempt \d`)

// untold: AWS did not say what became of the tasks: it answered nothing, or somebody
// was away for longer than it remembers them.
func (f *field) untold() bool {
	cause := f.result.Cause
	return f.unanswered() || f.faulty("lost-reply", "5xx", "no-send", "throttle") && givenUp.MatchString(cause) ||
		strings.Contains(cause, "cannot be told") && f.Away*time.Duration(len(f.Kills)) >= forgetsAfter
}

// jobExcused: something in the case decides about the end besides the tasks.
func (f *field) jobExcused() bool {
	late := f.parsed(f.Job.Does).StartDelay > f.patience() && (f.Away > 0 || f.paused) // who comes later may see it run
	return late || f.untold() || f.excuses(Abort) || f.excuses(Rollback) || f.excuses(StopTask) ||
		f.faulty("no-capacity")
}

// jobMust is how it ends if nothing interferes.
func (f *field) jobMust() sluice.Outcome {
	after, _ := f.rollsBack()
	for _, x := range []struct{ does, container string }{{f.Before, stepBefore}, {f.jobDoes(), f.Job.watched()}, {after, stepAfter}} {
		if x.does == "" {
			continue
		}
		if o := f.fate(x.does, x.container); o != sluice.Succeeded {
			return o
		}
	}
	return sluice.Succeeded
}

// jobDoes is what the task does that is run, "" if none is.
func (f *field) jobDoes() string {
	if f.Job.Only {
		return ""
	}
	return f.Job.Does
}

// fate is how a task ends whose first container does that, by the container watched.
func (f *field) fate(does, watched string) sluice.Outcome {
	first := f.parsed(does)
	watches := first
	if watched == jobSide {
		watches = f.parsed(f.Job.Side)
	}
	switch {
	case first.NoBoot != "":
		return sluice.Failed
	case first.StartDelay > f.patience(), first.CrashAfter > jobTimeout:
		return sluice.Stalled
	case watches.ExitCode != 0:
		return sluice.Failed
	}
	return sluice.Succeeded
}

func (f *field) parsed(options string) image.Behaviour {
	b, err := image.Parse("sim/job:v1?" + options)
	if err != nil {
		f.broken("%s: %v", options, err)
	}
	return b
}

// jobState is how the tasks and revisions stand, as text.
func (f *field) jobState(tx *world.Tx) string {
	ends := map[string]int{}
	for _, t := range f.jobTasks() {
		how := f.jobFailure(t)
		if how == "" {
			how = "came to its end"
		}
		ends[how]++
	}
	var parts []string
	for how, n := range ends {
		parts = append(parts, fmt.Sprintf("%d of %d tasks %s", n, f.Job.times(), how))
	}
	slices.Sort(parts)
	parts = append(parts, fmt.Sprintf("%d revisions", len(jobRevisions(tx))))
	return strings.Join(parts, "; ")
}

// stopTask is somebody who stops a task of the run by hand.
func (f *field) stopTask() {
	id := ""
	f.inWorld(func(*world.Tx) {
		for _, t := range f.jobTasks() {
			if t.DesiredStatus == "RUNNING" {
				id = t.ID
			}
		}
	})
	if id != "" {
		f.ask("StopTask", map[string]any{"cluster": f.World.Cluster, "task": id})
	}
}

// registers is somebody who registers another revision of the family.
func (f *field) registers() {
	if err := f.registerAs(formerImage); err != nil {
		f.say("outside: %v", err) // AWS strikes him too
	}
}
