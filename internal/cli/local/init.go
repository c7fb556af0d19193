package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/replica"
)

// initRun is one run of sluice init.
type initRun struct {
	*session.Session
	cluster, service string
	family           string // of --task-definition: files of a task without a service
	format           string
	pipeline         string // replica.Pipeline
	isAsking         bool   // the service was chosen from a list
	force            bool
	jsonnet          bool
	taskPath         string // name of the file; empty: the usual one
	servicePath      string
}

func (p *program) newInitCommand() *cobra.Command {
	r := &initRun{Session: p.Session}
	c := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write the files of an application, also of a running service",
		Long: `Write the files of an application into DIR, or into the current directory.

With --service, sluice reads the running service and writes taskdef.json,
servicedef.json and sluice.yaml. sluice plan on them shows no change. It only reads AWS.
With --format ecspresso, they are ecs-task-def.json, ecs-service-def.json and
ecspresso.yml, or .jsonnet files with --jsonnet. With --task-definition instead of
--service, they are for tasks without a service.

In a terminal, without --service, sluice asks: for the cluster and the service, from the
lists of AWS, and for the pipeline. Elsewhere it refuses, and lists them. It writes nothing
before the last answer.

If DIR has taskdef.json and servicedef.json, sluice writes sluice.yaml with a canary
pipeline for them. It asks nothing and calls no AWS.

It says what a canary lacks, such as a second target group. It overwrites no file
without --force, and writes all files or none.`,
		Example: `  sluice init                           asks for the service
  sluice init shop --cluster prod --service web
  sluice init shop                      for the two definition files in shop
  sluice init shop --format pipecd      app.pipecd.yaml instead of sluice.yaml
  sluice init shop --cluster prod --service web --format ecspresso
  sluice init job --task-definition job --format ecspresso --jsonnet`,
		Args: session.AtMost(1),
		RunE: func(c *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			return r.runInit(c.Context(), dir)
		},
	}
	f := c.Flags()
	f.StringVar(&r.cluster, "cluster", "", "`cluster` of the running service (default: default)")
	f.StringVar(&r.service, "service", "", "`name` of the running service")
	f.StringVar(&r.pipeline, "pipeline", "",
		"stages to write: canary, blue-green, or rolling for none (default: canary, if all that it needs exists)")
	f.StringVar(&r.format, "format", "sluice", "application file: sluice, pipecd or ecspresso")
	f.StringVar(&r.family, "task-definition", "", "with --format ecspresso: `family` or family:revision of a task without a service")
	f.StringVar(&r.taskPath, "task-definition-path", "", "with --format ecspresso: `name` of the task definition's file")
	f.StringVar(&r.servicePath, "service-definition-path", "",
		"with --format ecspresso: `name` of the service definition's file")
	f.BoolVar(&r.jsonnet, "jsonnet", false, "with --format ecspresso: write Jsonnet")
	f.BoolVar(&r.force, "force", false, "overwrite files")
	f.BoolVar(&r.force, "force-overwrite", false, "the same as --force")
	return c
}

func (r *initRun) runInit(ctx context.Context, dir string) error {
	file, err := r.applicationFile()
	if err != nil {
		return err
	}
	target, err := r.initFolder(dir)
	if err != nil {
		return err
	}
	r.isAsking = r.service == "" && r.family == "" && !r.hasDefinitions(target)
	names := []string{file}
	task, service := r.definitionFiles()
	switch {
	case r.service != "" || r.isAsking:
		names = []string{task, service, file}
	case r.family != "":
		names = []string{task, file}
	}
	if err := r.refuseOverwrite(target, dir, file, names); err != nil {
		return err
	}
	if r.isAsking {
		if err := r.askService(ctx, dir); err != nil {
			return err
		}
	}
	files, setup, notes, err := r.makeFiles(ctx, target, dir)
	if err != nil {
		return err
	}
	if err := writeAll(target, dir, files); err != nil {
		return err
	}
	r.printInit(dir, files, setup, notes)
	return nil
}

// applicationFile checks the flags, and returns the name of the application file of the format.
func (r *initRun) applicationFile() (string, error) {
	if err := r.checkEcspresso(); err != nil {
		return "", err
	}
	pipelines := session.ChoiceError{Value: r.pipeline, Words: []string{string(replica.CanaryPipeline),
		string(replica.BlueGreenPipeline), string(replica.RollingPipeline)}}
	if r.pipeline != "" && !slices.Contains(pipelines.Words, r.pipeline) {
		return "", pipelines.OfFlag("sluice init", "pipeline")
	}
	switch r.format {
	case "sluice":
		return replica.SluiceFile, nil
	case "pipecd":
		return replica.PipeCDFile, nil
	case "ecspresso":
		return r.jsonnetName(replica.EcspressoFile), nil
	}
	return "", session.ChoiceError{Value: r.format, Words: []string{"sluice", "pipecd", "ecspresso"}}.OfFlag("sluice init", "format")
}

// checkEcspresso returns an error for flags that only the format of ecspresso has.
func (r *initRun) checkEcspresso() error {
	wrong := func(why, next string) error {
		return &sluice.Error{Op: "sluice init", Err: errors.New(why), Next: next}
	}
	isLive := r.family != "" || r.service != ""
	switch {
	case r.family != "" && r.service != "":
		return wrong("--task-definition is for tasks without a service, and --service is given too", "give one of them")
	case r.format == "ecspresso" && r.pipeline != "":
		return wrong("--pipeline needs the format sluice or pipecd", "leave --pipeline out")
	case r.format != "ecspresso" && (r.family != "" || r.jsonnet || r.taskPath != "" || r.servicePath != ""):
		return wrong("--task-definition, --jsonnet and the names of files need the format of ecspresso",
			"give --format ecspresso")
	case !isLive && (r.jsonnet || r.taskPath != "" || r.servicePath != ""):
		return wrong("--jsonnet and the names of files need the service or the task definition to read",
			"give --service or --task-definition")
	case filepath.Base(r.taskPath) != r.taskPath && r.taskPath != "",
		filepath.Base(r.servicePath) != r.servicePath && r.servicePath != "":
		return wrong("the name of a definition's file has a folder", "give only the name: it is written into DIR")
	}
	return nil
}

// definitionFiles returns the names of the definition files.
func (r *initRun) definitionFiles() (task, service string) {
	if r.format == "ecspresso" && (r.service != "" || r.family != "") {
		return cmp.Or(r.taskPath, r.jsonnetName(replica.EcspressoTaskFile)),
			cmp.Or(r.servicePath, r.jsonnetName(replica.EcspressoServiceFile))
	}
	return replica.TaskFile, replica.ServiceFile
}

// jsonnetName returns a name with .jsonnet if that is asked for.
func (r *initRun) jsonnetName(name string) string {
	if !r.jsonnet {
		return name
	}
	return strings.TrimSuffix(name, filepath.Ext(name)) + ".jsonnet"
}

// initFolder returns the absolute path of the folder.
func (r *initRun) initFolder(dir string) (string, error) {
	if filepath.IsAbs(dir) {
		return dir, nil
	}
	wd, err := r.Env.Disk.Getwd()
	return filepath.Join(wd, dir), err
}

// refuseOverwrite refuses to replace files, and a folder with another application file.
func (r *initRun) refuseOverwrite(target, dir, file string, names []string) error {
	entries, err := fs.ReadDir(r.Env.Disk.FS(target), ".")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &sluice.Error{Op: "sluice init", Resource: dir, Err: err, Next: "name a folder"}
	}
	var taken []string
	for _, e := range entries {
		isApplication := strings.HasSuffix(e.Name(), ".pipecd.yaml") || e.Name() == replica.SluiceFile ||
			strings.TrimSuffix(e.Name(), filepath.Ext(e.Name())) == "ecspresso"
		switch {
		case slices.Contains(names, e.Name()) && !r.force:
			taken = append(taken, e.Name())
		case isApplication && e.Name() != file:
			return &sluice.Error{Op: "sluice init", Resource: dir,
				Err:  fmt.Errorf("the folder has another application file, %s; nothing was written", e.Name()),
				Next: "name another folder, or remove that file"}
		}
	}
	if len(taken) > 0 {
		return &sluice.Error{Op: "sluice init", Resource: dir,
			Err:  fmt.Errorf("it has %s already; nothing was written", strings.Join(taken, " and ")),
			Next: "name another folder, or give --force to overwrite"}
	}
	return nil
}

// makeFiles returns the files of the application.
func (r *initRun) makeFiles(ctx context.Context, target, dir string) (files []initFile, setup replica.Setup,
	notes []string, err error) {
	switch {
	case r.family != "":
		files, setup, err = r.readFamily(ctx)
	case r.service == "":
		setup, err = r.readDefinitions(target, dir)
	default:
		files, setup, notes, err = r.readService(ctx)
	}
	if err != nil {
		return nil, setup, nil, err
	}
	switch r.format {
	case "pipecd":
		return append(files, initFile{replica.PipeCDFile, []byte(setup.PipeCDText())}), setup, notes, err
	case "ecspresso":
		files, err = r.ecspressoFiles(files, setup)
		return files, setup, notes, err
	}
	return append(files, initFile{replica.SluiceFile, []byte(setup.SluiceText())}), setup, notes, err
}
