package rehearse

import (
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/awssim/image"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// Families of the tasks before and after the stages, which are the steps' names too.
const (
	StepBefore = "before"
	StepAfter  = "after"
)

// stepFamilies returns the families of the steps' own definitions.
func (f *Rehearsal) stepFamilies() (all []string) {
	if f.Generated {
		return []string{StepBefore, StepAfter}
	}
	for _, s := range append(append([]appfile.Step{}, f.application.Before...), f.application.After...) {
		if s.Task != nil {
			all = append(all, *s.Task.Input.Family)
		}
	}
	return all
}

// setStepEnds makes the tasks of a user's own steps end: those with their own definition, and the
// new version with the steps' commands. They succeed, except for the first step of the failing
// kind.
func setStepEnds(all image.Catalog, app *appfile.Application, fails string) {
	for side, steps := range map[string][]appfile.Step{StepBefore: app.Before, StepAfter: app.After} {
		for i, s := range steps {
			ends := image.Behaviour{Version: "step", CrashAfter: 20 * time.Second}
			if side == fails && i == 0 {
				ends.ExitCode = 3
			}
			setStepEnd(all, mainImage(app), s, ends)
		}
	}
}

func setStepEnd(all image.Catalog, served string, s appfile.Step, ends image.Behaviour) {
	if s.Task != nil {
		for _, c := range s.Task.Input.ContainerDefinitions {
			switch {
			case c.Image == nil:
			case *c.Image == served: // the new version, with another command
				setCommand(all, served, c.Command, ends)
			default:
				all[*c.Image] = ends
			}
		}
		return
	}
	if s.Run.Input.Overrides == nil {
		return
	}
	for _, o := range s.Run.Input.Overrides.ContainerOverrides {
		setCommand(all, served, o.Command, ends)
	}
}

func setCommand(all image.Catalog, name string, words []string, does image.Behaviour) {
	b, ok := all[name]
	if !ok || len(words) == 0 {
		return
	}
	commands := map[string]image.Behaviour{strings.Join(words, " "): does}
	for k, v := range b.Commands {
		commands[k] = v
	}
	b.Commands = commands
	all[name] = b
}

// checkRunOnce checks that a task runs once for each deployment, or as often as requested (P5).
func (f *Rehearsal) checkRunOnce(t *world.Task) {
	if t.Service != nil || t.StartedBy == "" || slices.Contains(f.TasksByStarter[t.StartedBy], t) {
		return
	}
	all := append(f.TasksByStarter[t.StartedBy], t)
	if most := f.expectedTasks(t.StartedBy); len(all) > most {
		f.AddViolation("P5", "%d tasks of %s were started instead of %d: %s", len(all), t.StartedBy, most,
			t.ID)
	}
	f.TasksByStarter[t.StartedBy] = all
}

// expectedTasks returns how many tasks a stage must start, by their startedBy.
func (f *Rehearsal) expectedTasks(by string) int {
	_, stage, _ := strings.Cut(by, "/")
	if stage == "run" {
		return f.Job.TaskCount()
	}
	if !f.Generated {
		for _, s := range f.Plan.Stages {
			if t := s.Task; t != nil && plan.StepKey(t.When, t.Step) == stage {
				return t.Count
			}
		}
	}
	return 1
}

// StepsFail reports whether a step fails by itself.
func (c Case) StepsFail() bool {
	text := c.Before + " " + c.After
	return c.FailingStep != "" || strings.Contains(text, "exit=3") || strings.Contains(text, "noboot")
}
