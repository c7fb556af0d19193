package cli

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluice-ecs/sluice/internal/definition"
)

// otherCommands are commands of similar programs, with what does the same here.
var otherCommands = map[string]string{
	"apply": "run sluice deploy",
	"check": "run sluice plan: it reads the files and AWS, reports every problem and writes nothing",
	"docs":  "read docs/ecspresso.md of sluice, or run sluice COMMAND --help",
	"events": "run sluice history ID for the events of a deployment, or sluice status --events 20 for those of " +
		"the service",
	"lint":     "run sluice plan: it reads the files and AWS, reports every problem and writes nothing",
	"list":     "run sluice history to list the deployments, or sluice status DIR for one service",
	"ls":       "run sluice history to list the deployments, or sluice status DIR for one service",
	"promote":  "run sluice approve if the deployment waits for approval, or sluice resume if it is paused",
	"skills":   "run sluice --help: sluice has no files for agents",
	"simulate": "run sluice rehearse for deployments with faults, or sluice sim for a local AWS",
	"start":    "run sluice deploy for a service, sluice run for a task, or sluice sim for a local AWS",
	"stop":     "run sluice abort to end a deployment where it is, or sluice rollback to restore the state before it",
	"undo":     "run sluice rollback",
	"up":       "run sluice deploy for a service, or sluice sim for a local AWS",
	"validate": "run sluice plan: it reads the files and AWS, reports every problem and writes nothing",
}

// adviseOnFlag returns what to use instead of a flag that similar programs have, or "".
func adviseOnFlag(c *cobra.Command, args []string, err error) string {
	command := c.Name()
	var unknown *pflag.NotExistError
	var noValue *pflag.ValueRequiredError
	switch {
	case errors.As(err, &unknown):
		name := unknown.GetSpecifiedName()
		if advice := otherFlags[command+" --"+name]; advice != "" {
			return advice
		}
		if advice := otherFlags["--"+name]; advice != "" {
			return advice
		}
		advice := cmp.Or(nearFlag(c, name), serviceArgument(c, args, name), flagOfOthers(c, name))
		if advice == "" && command == "run" { // a flag of the container's command
			advice = "write -- before the command: sluice run DIR -- COMMAND; or run sluice run --help"
		}
		return advice
	case errors.As(err, &noValue) && noValue.GetSpecifiedName() == "output":
		return "give --output text or --output json"
	}
	return ""
}

// nearFlag returns advice to use the flag of a command whose name is nearest to an unknown one, or "".
func nearFlag(c *cobra.Command, name string) string {
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	near := definition.Nearest(name, names)
	if near == "" {
		return ""
	}
	return "use --" + near + ", or run " + c.CommandPath() + " --help"
}

// serviceArgument returns the command with CLUSTER/SERVICE in place of the flags --cluster and --service of sluice wait, or
// with the folder that it needs. It returns "" for another flag or command.
func serviceArgument(c *cobra.Command, args []string, name string) string {
	takesService := strings.Contains(c.Use, "CLUSTER/SERVICE")
	if name != "cluster" && name != "service" || !takesService && !strings.Contains(c.Use, "DIR") {
		return ""
	}
	value := func(flag, other string) string {
		for i, arg := range args {
			if given, ok := strings.CutPrefix(arg, flag+"="); ok {
				return cmp.Or(given, other)
			}
			if arg == flag && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
				return cmp.Or(args[i+1], other)
			}
		}
		return other
	}
	cluster, service := value("--cluster", "CLUSTER"), value("--service", "SERVICE")
	switch {
	case !takesService && service == "SERVICE":
		return ""
	case !takesService:
		return fmt.Sprintf("name the application's folder: %s DIR; sluice init --cluster %s --service %s writes its files",
			c.CommandPath(), cluster, service)
	}
	return "name the service as CLUSTER/SERVICE: " + c.CommandPath() + " " + cluster + "/" + service
}

// flagOfOthers names the commands that have a flag which c does not have, or "".
func flagOfOthers(c *cobra.Command, name string) string {
	var all []string
	for _, other := range c.Root().Commands() {
		if other.IsAvailableCommand() && other != c && other.LocalNonPersistentFlags().Lookup(name) != nil {
			all = append(all, other.CommandPath())
		}
	}
	if len(all) == 0 || len(all) > 5 {
		return ""
	}
	return "leave it out: --" + name + " is a flag of " + definition.ListNames(all) + "; or run " + c.CommandPath() + " --help"
}

// otherFlags are flags of ecspresso that sluice does not have, with what to use instead. A name without a command
// is about every command.
var otherFlags = map[string]string{
	"--color":          "leave it out: text on a terminal is coloured",
	"--no-color":       "set the environment variable NO_COLOR=1",
	"--debug":          "leave it out: every write is printed with its result, and sluice history ID lists every event",
	"--filter-command": "leave it out: give the ID of a task with --id",

	"diff --unified":    "leave it out: a line per change is printed, or JSON with --output json",
	"diff --no-unified": "leave it out: a line per change is printed, or JSON with --output json",
	"diff --external": "run sluice render taskdef and sluice revisions --revision current, and give their output to the " +
		"other program",
	"diff --jsonnet":   "leave it out: files of both forms are compared",
	"render --jsonnet": "leave it out: JSON is valid Jsonnet",
	"run --task-def": "write a configuration with this task_definition and without service_definition, and run " +
		"sluice run FILE",
	"verify --cache":    "leave it out: each resource is read once",
	"verify --no-cache": "leave it out: each resource is read once",
	"run --client-token": "leave it out: sluice gives each run a token of its own, so that a repeated call starts " +
		"no second task",
	"run --ebs-delete-on-termination":    "leave it out: sluice run attaches no EBS volumes",
	"run --no-ebs-delete-on-termination": "leave it out: sluice run attaches no EBS volumes",
	"tasks --trace":                      "run sluice status, which says why tasks fail, and sluice logs --id ID",
	"init --sort":                        "leave it out: members of definitions are always in the same order",
	"init --express":                     "leave it out: sluice does not deploy Express Mode services",
	"init --no-express":                  "leave it out: sluice does not deploy Express Mode services",
	"init --express-definition-path":     "leave it out: sluice does not deploy Express Mode services",
	"init --config":                      "name the folder of the files: sluice init DIR",
}
