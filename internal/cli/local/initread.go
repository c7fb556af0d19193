package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile/render"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/folder"
	"github.com/sluice-ecs/sluice/internal/replica"
	"github.com/sluice-ecs/sluice/internal/validate"
)

// ecspressoFiles returns the definitions and the configuration as ecspresso reads them.
func (r *initRun) ecspressoFiles(files []initFile, setup replica.Setup) ([]initFile, error) {
	task, service := r.definitionFiles()
	config := initFile{replica.EcspressoFile, []byte(setup.EcspressoText(task, service))}
	for i, f := range files {
		files[i].data = render.EscapeTemplates(f.data)
	}
	if !r.jsonnet {
		return append(files, config), nil
	}
	data, err := yaml.YAMLToJSON(config.data)
	if err != nil {
		return nil, err
	}
	files = append(files, initFile{r.jsonnetName(config.name), data})
	for i, f := range files {
		if filepath.Ext(f.name) != ".jsonnet" {
			continue // the name of a flag
		}
		if files[i].data, err = render.FormatJsonnet(f.name, f.data); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// readFamily reads a task definition.
func (r *initRun) readFamily(ctx context.Context) (files []initFile, s replica.Setup, err error) {
	a, _, err := r.OpenAccount(ctx, "", "")
	if err != nil {
		return nil, s, err
	}
	td, err := ecs.ReadTagged(ctx, a.ECS(), r.family)
	if err != nil {
		return nil, s, err
	}
	data, err := definition.TaskFromAWS(td.TaskDefinition, td.Tags).FileJSON()
	name, _ := r.definitionFiles()
	return []initFile{{name, data}}, replica.Setup{Region: a.Region(), Cluster: r.cluster}, err
}

// readDefinitions reads the two definition files of the folder.
func (r *initRun) readDefinitions(target, dir string) (s replica.Setup, err error) {
	files := folder.WithPrefix(filepath.ToSlash(dir), r.Env.Disk.FS(target))
	named := func(name string) string { return filepath.ToSlash(filepath.Join(dir, name)) }
	if filepath.IsAbs(dir) || strings.HasPrefix(filepath.Clean(dir), "..") {
		files, named = r.Env.Disk.FS(target), func(name string) string { return name }
	}
	data, err := fs.ReadFile(files, named(replica.TaskFile))
	var task *definition.Task
	if err == nil {
		task, err = validate.LoadTask(named(replica.TaskFile), data, nil)
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
	return replica.SetupFromDefinitions(task, service).Choose(replica.Pipeline(r.pipeline), nil)
}

// giveService is what sluice init needs.
const giveService = "give --cluster and --service to read a running service, or put there taskdef.json and servicedef.json as " +
	"aws ecs register-task-definition and create-service take them"

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
		Next: giveService}
}

// readService reads the running service.
func (r *initRun) readService(ctx context.Context) (files []initFile, s replica.Setup, notes []string, err error) {
	a, _, err := r.OpenAccount(ctx, "", "")
	if err != nil {
		return nil, s, nil, err
	}
	live, err := replica.Read(ctx, a, r.cluster, r.service)
	if err != nil {
		return nil, s, nil, err
	}
	s = live.Setup()
	if r.isAsking && s.NoCanary == "" && r.format != "ecspresso" && r.pipeline == "" {
		if err := r.askPipeline(ctx, s); err != nil {
			return nil, s, nil, err
		}
	}
	if s, err = s.Choose(replica.Pipeline(r.pipeline), live.Surroundings.Groups); err != nil {
		return nil, s, nil, err
	}
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
	if r.format == "ecspresso" && r.family == "" {
		notes = append(notes, "a pipeline with a canary needs the format sluice or pipecd")
	} else {
		notes = append(notes, s.Suggestions()...)
	}
	for _, n := range notes {
		fmt.Fprintf(r.Env.Out, "note: %s\n", n)
	}
	next := "run sluice sim --from " + dir + " --speed 40 for a local AWS, then sluice plan " + dir
	if r.service != "" || r.family != "" {
		next = "run sluice plan " + dir + ", which shows no change"
	}
	if s.CreateCanary != "" {
		next = fmt.Sprintf("create it, and set its ARN in %s: %s", filepath.Join(dir, files[len(files)-1].name), s.CreateCanary)
	}
	fmt.Fprintf(r.Env.Out, "next: %s\n", next)
}
