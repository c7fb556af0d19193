package deploy

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/survey"
)

// registerTaskSource adds the flags that select a registered task definition.
func registerTaskSource(f *pflag.FlagSet, d *survey.LiveDefinitions) {
	f.BoolVar(&d.ServingTask, "skip-task-definition", false,
		"the task definition of the service, instead of the file's; without --image nothing is registered")
	f.BoolVar(&d.LatestTask, "latest-task-definition", false,
		"the newest registered task definition of the family, instead of the file's")
	f.Var(revisionFlag(&d.Revision), "revision", "this `number` of the family's task definitions, instead of the file's")
}

// registerSources adds the flags that replace definitions of the files by what AWS has.
func registerSources(f *pflag.FlagSet, d *survey.LiveDefinitions) {
	registerTaskSource(f, d)
	session.RegisterOpposite(f, &d.Service, "update-service",
		"--update-service=false leaves the attributes of the service as they are")
	f.BoolVar(&d.Service, "no-update-service", false, "the same as --update-service=false")
}

// checkSources refuses flags that exclude each other. --revision may be given with --skip-task-definition, because
// ecspresso needs both.
func checkSources(d survey.LiveDefinitions) error {
	n := 0
	for _, given := range []bool{d.ServingTask || d.Revision != 0, d.LatestTask} {
		if given {
			n++
		}
	}
	switch {
	case n > 1:
		return &sluice.Error{Op: "select the task definition",
			Err:  errors.New("--latest-task-definition excludes --skip-task-definition and --revision"),
			Next: "give one of them"}
	}
	return nil
}

// revisionFlag returns the value of a flag with the number of a revision.
func revisionFlag(to *int) pflag.Value {
	return session.FlagOf("number", func(s string) error {
		n, err := strconv.ParseUint(s, 10, 31)
		if _, number, named := strings.Cut(s, ":"); named {
			return fmt.Errorf("it must be the number of a revision alone, here %s: the file names the family", number)
		}
		if err != nil || n == 0 {
			return errors.New("it must be the number of a revision, 1 or more (sluice revisions lists them)")
		}
		*to = int(n)
		return nil
	})
}
