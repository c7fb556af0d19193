package simtest

import (
	"strings"

	"github.com/sluice-ecs/sluice/awssim/image"
	"github.com/sluice-ecs/sluice/internal/rehearse"
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
func afterOptions(c rehearse.Case) (options string, rollback bool) {
	return strings.CutPrefix(c.After, "rollback&")
}

func (d *draft) writeSteps(c rehearse.Case) {
	task := func(name string) string {
		return "family: " + name +
			"\nnetworkMode: awsvpc\nrequiresCompatibilities: [FARGATE]\ncpu: 256\nmemory: " +
			"512\ncontainerDefinitions:\n  - name: " + name +
			"\n    image: sim/rehearsal:" + name + "\n    environment: [{name: PASSWORD, value: " + rehearse.Secret +
			"}]\n"
	}
	if c.Before != "" {
		d.before.WriteString(task(rehearse.StepBefore))
		writeLine(&d.pipeline, "before: [{name: %s, taskDefinitionFile: before.yaml}]", rehearse.StepBefore)
	}
	if c.After != "" {
		_, rollback := afterOptions(c)
		d.after.WriteString(task(rehearse.StepAfter))
		writeLine(&d.pipeline, "after: [{name: %s, taskDefinitionFile: after.yaml, rollback: %t, runTask: "+
			"{overrides: {containerOverrides: [{name: %[1]s, environment: [{name: TOKEN, value: %[3]s}]}]}}}]",
			rehearse.StepAfter, rollback, rehearse.Secret)
	}
}

// addStepImages defines what the tasks of the steps do.
func (f *simulation) addStepImages(all image.Catalog) error {
	after, _ := afterOptions(*f.env.Case)
	for name, options := range map[string]string{rehearse.StepBefore: f.env.Case.Before, rehearse.StepAfter: after} {
		b, err := image.Parse("sim/step:v1?" + options)
		if err != nil {
			return err
		}
		all["sim/rehearsal:"+name] = b
	}
	return nil
}
