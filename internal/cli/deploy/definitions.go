package deploy

import (
	"errors"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/survey"
)

// registerTaskSource adds the flags that select a registered task definition.
func registerTaskSource(f *pflag.FlagSet, d *survey.LiveDefinitions) {
	f.BoolVar(&d.ServingTask, "skip-task-definition", false,
		"the task definition of the service, instead of the file's; nothing is registered")
	f.BoolVar(&d.LatestTask, "latest-task-definition", false,
		"the newest registered task definition of the family, instead of the file's")
	f.IntVar(&d.Revision, "revision", 0, "this `number` of the family's task definitions, instead of the file's")
}

// registerSources adds the flags that replace definitions of the files by what AWS has.
func registerSources(f *pflag.FlagSet, d *survey.LiveDefinitions) {
	registerTaskSource(f, d)
	f.Var(invertedFlag{&d.Service}, "update-service",
		"--update-service=false leaves the attributes of the service as they are")
	f.Lookup("update-service").NoOptDefVal = "true"
	f.BoolVar(&d.Service, "no-update-service", false, "the same as --update-service=false")
}

// invertedFlag is a flag that sets the opposite.
type invertedFlag struct{ not *bool }

func (f invertedFlag) String() string { return strconv.FormatBool(f.not == nil || !*f.not) }

func (f invertedFlag) Type() string { return "bool" }

func (f invertedFlag) Set(s string) error {
	v, err := strconv.ParseBool(s)
	if err == nil {
		*f.not = !v
	}
	return err
}

// checkSources refuses flags that exclude each other.
func checkSources(d survey.LiveDefinitions) error {
	n := 0
	for _, given := range []bool{d.ServingTask, d.LatestTask, d.Revision != 0} {
		if given {
			n++
		}
	}
	switch {
	case d.Revision < 0:
		return &sluice.Error{Op: "select the task definition", Err: errors.New("--revision is below 1"),
			Next: "run sluice revisions to list the revisions"}
	case n > 1:
		return &sluice.Error{Op: "select the task definition",
			Err:  errors.New("--skip-task-definition, --latest-task-definition and --revision exclude each other"),
			Next: "give one of them"}
	}
	return nil
}
