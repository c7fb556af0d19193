package local

import (
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
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/folder"
	"github.com/sluice-ecs/sluice/internal/replica"
	"github.com/sluice-ecs/sluice/internal/validate"
)

// initRun is one run of sluice init.
type initRun struct {
	*session.Session
	cluster, service string
	format           string
	force            bool
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
ecspresso.yml.

Without --service, DIR has taskdef.json and servicedef.json, and sluice writes
sluice.yaml with a canary pipeline for them. It calls no AWS.

It says what a canary lacks, such as a second target group. It overwrites no file
without --force, and writes all files or none.`,
		Example: `  sluice init shop --cluster prod --service web
  sluice init shop                      for the two definition files in shop
  sluice init shop --format pipecd      app.pipecd.yaml instead of sluice.yaml
  sluice init shop --cluster prod --service web --format ecspresso`,
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
	f.StringVar(&r.format, "format", "sluice", "application file: sluice, pipecd or ecspresso")
	f.BoolVar(&r.force, "force", false, "overwrite files")
	return c
}

func (r *initRun) runInit(ctx context.Context, dir string) error {
	file, err := r.applicationFile()
	if err != nil {
		return err
	}
	names := []string{file}
	if r.service != "" {
		task, service := r.definitionFiles()
		names = []string{task, service, file}
	}
	target, err := r.initFolder(dir)
	if err != nil {
		return err
	}
	if err := r.refuseOverwrite(target, dir, file, names); err != nil {
		return err
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
	if r.cluster != "" && r.service == "" {
		return "", &sluice.Error{Op: "sluice init",
			Err:  errors.New("--cluster names the cluster of --service, which is missing"),
			Next: "give --service too, or leave --cluster out"}
	}
	switch r.format {
	case "sluice":
		return replica.SluiceFile, nil
	case "pipecd":
		return replica.PipeCDFile, nil
	case "ecspresso":
		return replica.EcspressoFile, nil
	}
	return "", &sluice.Error{Op: "sluice init",
		Err:  fmt.Errorf("--format must be sluice, pipecd or ecspresso, not %q", r.format),
		Next: "run sluice init --help"}
}

// definitionFiles returns the names of the definition files.
func (r *initRun) definitionFiles() (task, service string) {
	if r.format == "ecspresso" && r.service != "" {
		return replica.EcspressoTaskFile, replica.EcspressoServiceFile
	}
	return replica.TaskFile, replica.ServiceFile
}

// initFolder returns the absolute path of the folder.
func (r *initRun) initFolder(dir string) (string, error) {
	if filepath.IsAbs(dir) {
		return dir, nil
	}
	wd, err := r.Env.Getwd()
	return filepath.Join(wd, dir), err
}

// refuseOverwrite refuses to replace files, and a folder with another application file.
func (r *initRun) refuseOverwrite(target, dir, file string, names []string) error {
	entries, err := fs.ReadDir(r.Env.FS(target), ".")
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
	if r.service == "" {
		setup, err = r.readDefinitions(target, dir)
	} else {
		files, setup, notes, err = r.readService(ctx)
	}
	switch r.format {
	case "pipecd":
		return append(files, initFile{replica.PipeCDFile, []byte(setup.PipeCDText())}), setup, notes, err
	case "ecspresso":
		return append(files, initFile{replica.EcspressoFile, []byte(setup.EcspressoText(r.definitionFiles()))}), setup, notes, err
	}
	return append(files, initFile{replica.SluiceFile, []byte(setup.SluiceText())}), setup, notes, err
}

// readDefinitions reads the two definition files of the folder.
func (r *initRun) readDefinitions(target, dir string) (s replica.Setup, err error) {
	files := folder.WithPrefix(filepath.ToSlash(dir), r.Env.FS(target))
	named := func(name string) string { return filepath.ToSlash(filepath.Join(dir, name)) }
	if filepath.IsAbs(dir) || strings.HasPrefix(filepath.Clean(dir), "..") {
		files, named = r.Env.FS(target), func(name string) string { return name }
	}
	data, err := fs.ReadFile(files, named(replica.TaskFile))
	var task *definition.Task
	if err == nil {
		task, err = validate.LoadTask(named(replica.TaskFile), data)
	}
	if err != nil {
		return s, explainMissing(dir, replica.TaskFile, err)
	}
	data, err = fs.ReadFile(files, named(replica.ServiceFile))
	if err != nil {
		return s, explainMissing(dir, replica.ServiceFile, err)
	}
	service, err := validate.LoadService(named(replica.ServiceFile), data)
	if err != nil {
		return s, err
	}
	return replica.SetupFromDefinitions(task, service), nil
}

// explainMissing says what sluice init needs if a definition file cannot be read.
func explainMissing(dir, name string, err error) error {
	var why *fs.PathError
	if !errors.As(err, &why) {
		return err
	}
	err = why.Err
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New("the file does not exist")
	}
	return &sluice.Error{Op: "sluice init", Resource: dir, Err: fmt.Errorf("%s: %w", name, err),
		Next: "give --cluster and --service to read a running service, or put taskdef.json and servicedef.json there"}
}

// readService reads the running service.
func (r *initRun) readService(ctx context.Context) (files []initFile, s replica.Setup, notes []string, err error) {
	a, _, err := r.OpenAccount(ctx, "")
	if err != nil {
		return nil, s, nil, err
	}
	live, err := replica.Read(ctx, a, r.cluster, r.service)
	if err != nil {
		return nil, s, nil, err
	}
	s = live.Setup()
	service, notes := live.FileDefinition()
	task, err := live.Task.FileJSON()
	if err != nil {
		return nil, s, nil, err
	}
	data, err := service.FileJSON()
	taskFile, serviceFile := r.definitionFiles()
	return []initFile{{taskFile, task}, {serviceFile, data}}, s, append(live.Notes, notes...), err
}

// printInit prints the files, what a canary lacks, and the next command.
func (r *initRun) printInit(dir string, files []initFile, s replica.Setup, notes []string) {
	for _, f := range files {
		fmt.Fprintf(r.Env.Out, "wrote %s\n", filepath.Join(dir, f.name))
	}
	if r.format == "ecspresso" {
		notes = append(notes, "a pipeline with a canary needs the format sluice or pipecd")
	} else {
		notes = append(notes, s.Suggestions()...)
	}
	for _, n := range notes {
		fmt.Fprintf(r.Env.Out, "note: %s\n", n)
	}
	next := "run sluice sim --from " + dir + " for a local AWS, then sluice plan " + dir
	if r.service != "" {
		next = "run sluice plan " + dir + ", which shows no change"
	}
	fmt.Fprintf(r.Env.Out, "next: %s\n", next)
}
