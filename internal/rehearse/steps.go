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

// Families of the tasks that are run before and after the stages, which are the
// steps' names too.
const (
	stepBefore = "before"
	stepAfter  = "after"
)

// ends0 and ends3 are tasks of steps that succeed and fail.
const (
	ends0 = "crash-after=20s&exit=0"
	ends3 = "crash-after=20s&exit=3"
)

func (d *draws) step() string {
	return d.one(ends0, ends0, "crash-after=45m&exit=0", "start-delay=30s&"+ends0, ends3, "noboot=true")
}

// rollsBack cuts off whether a failure of the step after the stages rolls back.
func (c Case) rollsBack() (options string, rollback bool) {
	return strings.CutPrefix(c.After, "rollback&")
}

func (c Case) stepParts(d *draft) {
	task := func(name string) string {
		return "family: " + name + "\nnetworkMode: awsvpc\nrequiresCompatibilities: [FARGATE]\ncpu: 256\nmemory: 512\ncontainerDefinitions:\n  - name: " + name +
			"\n    image: sim/rehearsal:" + name + "\n    environment: [{name: PASSWORD, value: " + secret + "}]\n"
	}
	if c.Before != "" {
		d.before.WriteString(task(stepBefore))
		line(&d.pipeline, "before: [{name: %s, taskDefinitionFile: before.yaml}]", stepBefore)
	}
	if c.After != "" {
		_, rollback := c.rollsBack()
		d.after.WriteString(task(stepAfter))
		line(&d.pipeline, "after: [{name: %s, taskDefinitionFile: after.yaml, rollback: %t, runTask: {overrides: {containerOverrides: [{name: %[1]s, environment: [{name: TOKEN, value: %[3]s}]}]}}}]",
			stepAfter, rollback, secret)
	}
}

// stepImages says what the tasks of the steps do.
func (f *field) stepImages(all image.Catalog) error {
	after, _ := f.rollsBack()
	for name, options := range map[string]string{stepBefore: f.Before, stepAfter: after} {
		b, err := image.Parse("sim/step:v1?" + options)
		if err != nil {
			return err
		}
		all["sim/rehearsal:"+name] = b
	}
	return nil
}

// stepFamilies are the families of the steps' own definitions.
func (f *field) stepFamilies() (all []string) {
	if f.Files == nil {
		return []string{stepBefore, stepAfter}
	}
	for _, s := range append(append([]appfile.Step{}, f.task.Before...), f.task.After...) {
		if s.Task != nil {
			all = append(all, *s.Task.Input.Family)
		}
	}
	return all
}

// endSteps lets the tasks of a user's own steps end: those with a definition of their
// own, and the new version with the commands that steps give it. They succeed, but
// for the first of the side that fails.
func endSteps(all image.Catalog, app *appfile.Application, fails string) {
	for side, steps := range map[string][]appfile.Step{stepBefore: app.Before, stepAfter: app.After} {
		for i, s := range steps {
			ends := image.Behaviour{Version: "step", CrashAfter: 20 * time.Second}
			if side == fails && i == 0 {
				ends.ExitCode = 3
			}
			endStep(all, mainImage(app), s, ends)
		}
	}
}

func endStep(all image.Catalog, served string, s appfile.Step, ends image.Behaviour) {
	if s.Task != nil {
		for _, c := range s.Task.Input.ContainerDefinitions {
			switch {
			case c.Image == nil:
			case *c.Image == served: // the version itself, with another command
				command(all, served, c.Command, ends)
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
		command(all, served, o.Command, ends)
	}
}

func command(all image.Catalog, name string, words []string, does image.Behaviour) {
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

// ranOnce: a task is run once for each deployment, or as often as is asked for (P5).
func (f *field) ranOnce(t *world.Task) {
	if t.Service != nil || t.StartedBy == "" || slices.Contains(f.ran[t.StartedBy], t) {
		return
	}
	all := append(f.ran[t.StartedBy], t)
	if most := f.timesAsked(t.StartedBy); len(all) > most {
		f.violate("P5", "%d tasks of %s were started, which is asked for %d: %s", len(all), t.StartedBy, most, t.ID)
	}
	f.ran[t.StartedBy] = all
}

// timesAsked is how many tasks a stage is to start, by whom they name.
func (f *field) timesAsked(by string) int {
	_, stage, _ := strings.Cut(by, "/")
	if stage == "run" {
		return f.Job.times()
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

// stepsFail: a step fails by itself.
func (c Case) stepsFail() bool {
	text := c.Before + " " + c.After
	return c.Fails != "" || strings.Contains(text, "exit=3") || strings.Contains(text, "noboot")
}

// stepsMayFail: besides, ECS may have forgotten how a step ended by the time that
// somebody asks again.
func (c Case) stepsMayFail() bool {
	return c.stepsFail() || c.Before+c.After != "" && c.faulty("expired-credentials")
}
