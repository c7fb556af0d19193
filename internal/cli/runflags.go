package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	"github.com/spf13/pflag"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
)

// runFlags are the flags of sluice run.
type runFlags struct {
	count           *int
	words           []string // after --
	commands, env   []string
	overrides, file string
	tags            []string
	watch           string
}

func (o *runFlags) registerRunFlags(f *pflag.FlagSet) {
	f.Var(countFlag{&o.count}, "count", "number of tasks (default: the file's runTask.count, or 1)")
	f.StringArrayVar(&o.commands, "command", nil,
		"`CONTAINER=COMMAND` instead of its own, as words separated by spaces or a JSON list; repeatable")
	f.StringArrayVar(&o.env, "env", nil, "`CONTAINER=NAME=VALUE` to set in its environment; repeatable")
	f.StringVar(&o.overrides, "overrides", "", "`JSON` of RunTask's overrides")
	f.StringVar(&o.file, "overrides-file", "", "`file` of RunTask's overrides, JSON or YAML")
	f.StringArrayVar(&o.tags, "tags", nil, "`KEY=VALUE,…` as tags of the tasks; repeatable")
	f.StringVar(&o.watch, "watch-container", "",
		"`name` of the container whose exit code decides (default: the first essential one)")
}

// runOptions converts the flags to the input of RunTask.
func (o runFlags) runOptions(p *program) (mode.RunOptions, error) {
	in := &awsecs.RunTaskInput{}
	if o.count != nil {
		if *o.count < 1 {
			return mode.RunOptions{}, runFlagError("--count is below 1", "give 1 or more")
		}
		in.Count = aws.Int32(int32(*o.count))
	}
	var err error
	if in.Overrides, err = o.taskOverride(p); err != nil {
		return mode.RunOptions{}, err
	}
	if in.Tags, err = parseTags(o.tags); err != nil {
		return mode.RunOptions{}, err
	}
	return mode.RunOptions{Given: &definition.Run{Input: in}, Watch: o.watch, Command: o.words}, nil
}

func runFlagError(why, next string) error {
	return &sluice.Error{Op: "sluice run", Err: errors.New(why), Next: next}
}

// taskOverride returns the overrides of --overrides or its file, changed by --command and
// --env.
func (o runFlags) taskOverride(p *program) (*ecstypes.TaskOverride, error) {
	out, err := o.readOverrides(p)
	if err != nil {
		return nil, err
	}
	for _, c := range o.commands {
		name, words, err := parseCommand(c)
		if err != nil {
			return nil, err
		}
		overrideFor(out, name).Command = words
	}
	for _, e := range o.env {
		name, rest, ok := strings.Cut(e, "=")
		key, value, also := strings.Cut(rest, "=")
		if !ok || !also || name == "" || key == "" {
			return nil, runFlagError("--env is not CONTAINER=NAME=VALUE", "give, for example, --env web=DRY_RUN=1")
		}
		c := overrideFor(out, name)
		c.Environment = append(c.Environment, ecstypes.KeyValuePair{Name: &key, Value: &value})
	}
	return out, nil
}

// readOverrides returns the overrides of --overrides or --overrides-file.
func (o runFlags) readOverrides(p *program) (*ecstypes.TaskOverride, error) {
	name, data := "--overrides", []byte(o.overrides)
	switch {
	case o.file != "" && o.overrides != "":
		return nil, runFlagError("--overrides and --overrides-file are both given", "give one of them")
	case o.file == "" && o.overrides == "":
		return &ecstypes.TaskOverride{}, nil
	case o.file != "":
		var err error
		if data, err = p.readFile(o.file); err != nil {
			return nil, &sluice.Error{Op: "read the overrides", Resource: o.file, Err: err,
				Next: "give --overrides-file a file of RunTask's overrides, JSON or YAML"}
		}
		name = o.file
	}
	return definition.ReadOverrides(name, data)
}

func (p *program) absolutePath(path string) (string, error) {
	if filepath.IsAbs(path) {
		return path, nil
	}
	wd, err := p.env.Getwd()
	return filepath.Join(wd, path), err
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

func overrideFor(o *ecstypes.TaskOverride, name string) *ecstypes.ContainerOverride {
	i := slices.IndexFunc(o.ContainerOverrides,
		func(c ecstypes.ContainerOverride) bool { return aws.ToString(c.Name) == name })
	if i < 0 {
		i = len(o.ContainerOverrides)
		o.ContainerOverrides = append(o.ContainerOverrides, ecstypes.ContainerOverride{Name: &name})
	}
	return &o.ContainerOverrides[i]
}

func parseTags(flags []string) (all []ecstypes.Tag, err error) {
	for _, f := range flags {
		for pair := range strings.SplitSeq(f, ",") {
			key, value, ok := strings.Cut(pair, "=")
			if !ok || key == "" {
				return nil, runFlagError("--tags is not KEY=VALUE,…", "give, for example, --tags team=data,cost=42")
			}
			all = append(all, ecstypes.Tag{Key: &key, Value: &value})
		}
	}
	return all, nil
}
