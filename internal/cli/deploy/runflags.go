package deploy

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/survey"
)

// runFlags are the flags of sluice run.
type runFlags struct {
	count           *int
	words           []string // after --
	commands, env   []string
	overrides, file string
	tags            []string
	watch           string
	definitions     survey.LiveDefinitions
	images          *session.ImageFlags
	propagate       string
}

func (o *runFlags) registerRunFlags(s *session.Session, f *pflag.FlagSet) {
	f.Var(countFlag(&o.count), "count", "number of tasks (default: the file's runTask.count, or 1)")
	f.StringArrayVar(&o.commands, "command", nil,
		"`CONTAINER=COMMAND` instead of its own, as words separated by spaces or a JSON list; repeatable")
	f.Var(session.FlagOf("variable", func(v string) error { return o.setEnv(v, &s.Flags) }), "env",
		"`CONTAINER=NAME=VALUE` to set in its environment; repeatable. Without =: the environment of sluice.yaml")
	f.StringVar(&o.overrides, "overrides", "", "`JSON` of RunTask's overrides")
	f.StringVar(&o.file, "overrides-file", "", "`file` of RunTask's overrides: JSON, YAML or Jsonnet, also with templates")
	f.StringArrayVar(&o.tags, "tags", nil, "`KEY=VALUE,…` as tags of the tasks; repeatable")
	f.StringVar(&o.watch, "watch-container", "",
		"`name` of the container whose exit code decides (default: the first essential one)")
	f.StringVar(&o.propagate, "propagate-tags", "", "`TASK_DEFINITION` or NONE: whose tags the tasks get")
	f.Var(session.FlagOf("state", checkRunUntil), "wait-until", "stopped: sluice always waits for the end of the tasks, except with --no-wait")
	registerTaskSource(f, &o.definitions)
	o.images = session.RegisterImages(f)
}

// setEnv takes a value of the flag --env of sluice run: a variable of a container, or the environment of sluice.yaml.
func (o *runFlags) setEnv(s string, all *session.Flags) error {
	if strings.Contains(s, "=") {
		o.env = append(o.env, s)
		return nil
	}
	return all.ChooseEnvironment(s)
}

// checkRunUntil checks the flag --wait-until of ecspresso.
func checkRunUntil(s string) error {
	switch s {
	case "stopped":
		return nil
	case "running":
		return errors.New("sluice run does not wait for this state only: give --no-wait, then run sluice status")
	}
	return errors.New("it must be stopped")
}

// runOptions converts the flags to the input of RunTask.
func (o runFlags) runOptions(s *session.Session) (mode.RunOptions, error) {
	run := definition.NewRun()
	if o.count != nil {
		if *o.count < 1 {
			return mode.RunOptions{}, runFlagError("--count is below 1", "give 1 or more")
		}
		run.SetCount(*o.count)
	}
	if err := o.setOverrides(s, run); err != nil {
		return mode.RunOptions{}, err
	}
	if err := addTags(run, o.tags); err != nil {
		return mode.RunOptions{}, err
	}
	if err := o.setPropagation(run); err != nil {
		return mode.RunOptions{}, err
	}
	return mode.RunOptions{Given: run, Watch: o.watch, Command: o.words}, nil
}

func runFlagError(why, next string) error {
	return &sluice.Error{Op: "sluice run", Err: errors.New(why), Next: next}
}

// setOverrides sets the overrides of --overrides or its file, changed by --command and --env.
func (o runFlags) setOverrides(s *session.Session, run *definition.Run) error {
	if err := o.readOverrides(s, run); err != nil {
		return err
	}
	for _, c := range o.commands {
		name, words, err := parseCommand(c)
		if err != nil {
			return err
		}
		run.SetCommand(name, words)
	}
	seen := map[string]bool{}
	for _, e := range o.env {
		name, rest, ok := strings.Cut(e, "=")
		key, value, also := strings.Cut(rest, "=")
		if !ok || !also || name == "" || key == "" {
			return runFlagError("--env is not CONTAINER=NAME=VALUE", "give, for example, --env web=DRY_RUN=1")
		}
		if seen[name+"="+key] {
			return runFlagError("--env gives "+name+"="+key+" twice", "give each variable of a container once")
		}
		seen[name+"="+key] = true
		run.AddEnvironment(name, key, value)
	}
	return nil
}

// readOverrides reads the overrides of --overrides or --overrides-file, if one is given.
func (o runFlags) readOverrides(s *session.Session, run *definition.Run) (err error) {
	name, data := "--overrides", []byte(o.overrides)
	switch {
	case o.file != "" && o.overrides != "":
		return runFlagError("--overrides and --overrides-file are both given", "give one of them")
	case o.file == "" && o.overrides == "":
		return nil
	case o.file != "":
		if data, err = s.Env.Disk.ReadFile(o.file); err != nil {
			return &sluice.Error{Op: "read the overrides", Resource: o.file, Err: err,
				Next: "give --overrides-file a file of RunTask's overrides: JSON, YAML or Jsonnet"}
		}
		if name, data, err = s.Flags.EvaluateFile(s.Env, o.file, data); err != nil {
			return err
		}
	}
	run.Input.Overrides, err = definition.ReadOverrides(name, data)
	return err
}

// parseCommand parses "web=rake db:migrate" or `web=["rake","db:migrate"]`.
func parseCommand(s string) (container string, words []string, err error) {
	container, text, ok := strings.Cut(s, "=")
	if !ok || container == "" || strings.TrimSpace(text) == "" {
		return "", nil, runFlagError("--command is not CONTAINER=COMMAND",
			`give, for example, --command web="rake db:migrate"`)
	}
	if strings.HasPrefix(text, "[") {
		if err := json.Unmarshal([]byte(text), &words); err != nil {
			return "", nil, runFlagError(fmt.Sprintf("--command of %s: %v", container, err), "give a JSON list of text")
		}
		return container, words, nil
	}
	if strings.ContainsAny(text, `'"\`) {
		return "", nil, runFlagError("--command of "+container+" has quotes",
			`write a JSON list: --command `+container+`='["sh","-c","…"]', or give the command after --`)
	}
	return container, strings.Fields(text), nil
}

// setPropagation sets whose tags the tasks get.
func (o runFlags) setPropagation(run *definition.Run) error {
	switch o.propagate {
	case "":
		return nil
	case "TASK_DEFINITION", "NONE":
		run.SetPropagateTags(o.propagate)
		return nil
	case "SERVICE":
		return runFlagError("--propagate-tags is SERVICE, and no service starts the task", "give TASK_DEFINITION or NONE")
	}
	return runFlagError("--propagate-tags is "+o.propagate, "give TASK_DEFINITION or NONE")
}

func addTags(run *definition.Run, flags []string) error {
	seen := map[string]bool{}
	for _, f := range flags {
		for pair := range strings.SplitSeq(f, ",") {
			key, value, ok := strings.Cut(pair, "=")
			if !ok || key == "" {
				return runFlagError("--tags is not KEY=VALUE,…", "give, for example, --tags team=data,cost=42")
			}
			if seen[key] {
				return runFlagError("--tags gives "+key+" twice", "give each tag once")
			}
			seen[key] = true
			run.AddTag(key, value)
		}
	}
	return nil
}
