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
	stepBefore = "before"
	stepAfter  = "after"
)

// exits0 and exits3 are tasks of steps that succeed and fail.
const (
	exits0 = "crash-after=20s&exit=0"
	exits3 = "crash-after=20s&exit=3"
)

func (d *random) stepOptions() string {
	return d.oneOf(exits0, exits0, "crash-after=45m&exit=0", "start-delay=30s&"+exits0, exits3, "noboot=true")
}

// afterOptions returns the options of the step after the stages, and whether its failure rolls
// back.
func (c Case) afterOptions() (options string, rollback bool) {
	return strings.CutPrefix(c.After, "rollback&")
}

func (c Case) writeSteps(d *draft) {
	task := func(name string) string {
		return "family: " + name +
			"\nnetworkMode: awsvpc\nrequiresCompatibilities: [FARGATE]\ncpu: 256\nmemory: " +
			"512\ncontainerDefinitions:\n  - name: " + name +
			"\n    image: sim/rehearsal:" + name + "\n    environment: [{name: PASSWORD, value: " + secret + "}]\n"
	}
	if c.Before != "" {
		d.before.WriteString(task(stepBefore))
		writeLine(&d.pipeline, "before: [{name: %s, taskDefinitionFile: before.yaml}]", stepBefore)
	}
	if c.After != "" {
		_, rollback := c.afterOptions()
		d.after.WriteString(task(stepAfter))
		writeLine(&d.pipeline, "after: [{name: %s, taskDefinitionFile: after.yaml, rollback: %t, runTask: "+
			"{overrides: {containerOverrides: [{name: %[1]s, environment: [{name: TOKEN, value: %[3]s}]}]}}}]",
			stepAfter, rollback, secret)
	}
}

// addStepImages defines what the tasks of the steps do.
func (f *rehearsal) addStepImages(all image.Catalog) error {
	after, _ := f.afterOptions()
	for name, options := range map[string]string{stepBefore: f.Before, stepAfter: after} {
		b, err := image.Parse("sim/step:v1?" + options)
		if err != nil {
			return err
		}
		all["sim/rehearsal:"+name] = b
	}
	return nil
}

// stepFamilies returns the families of the steps' own definitions.
func (f *rehearsal) stepFamilies() (all []string) {
	if f.Files == nil {
		return []string{stepBefore, stepAfter}
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
	for side, steps := range map[string][]appfile.Step{stepBefore: app.Before, stepAfter: app.After} {
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
func (f *rehearsal) checkRunOnce(t *world.Task) {
	if t.Service != nil || t.StartedBy == "" || slices.Contains(f.tasksByStarter[t.StartedBy], t) {
		return
	}
	all := append(f.tasksByStarter[t.StartedBy], t)
	if most := f.expectedTasks(t.StartedBy); len(all) > most {
		f.addViolation("P5", "%d tasks of %s were started instead of %d: %s", len(all), t.StartedBy, most,
			t.ID)
	}
	f.tasksByStarter[t.StartedBy] = all
}

// expectedTasks returns how many tasks a stage must start, by their startedBy.
func (f *rehearsal) expectedTasks(by string) int {
	_, stage, _ := strings.Cut(by, "/")
	if stage == "run" {
		return f.Job.taskCount()
	}
	if f.Files != nil {
		for _, s := range f.plan.Stages {
			if t := s.Task; t != nil && plan.StepKey(t.When, t.Step) == stage {
				return t.Count
			}
		}
	}
	return 1
}

// stepsFail reports whether a step fails by itself.
func (c Case) stepsFail() bool {
	text := c.Before + " " + c.After
	return c.FailingStep != "" || strings.Contains(text, "exit=3") || strings.Contains(text, "noboot")
}

// stepsMayFail reports whether a step may fail. ECS may also no longer return how a step ended when
// sluice resumes.
func (c Case) stepsMayFail() bool {
	return c.stepsFail() || c.Before+c.After != "" && c.hasFault("expired-credentials")
}
