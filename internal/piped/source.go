package piped

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/appfile/values"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/folder"
	"github.com/sluice-ecs/sluice/internal/piped/contract"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// ourStages are the stages that the plugin always runs: those of pipelines, and the rollback.
var ourStages = append(plan.PipelineStages(), appfile.StageRollback)

// stages returns the stages that the plugin runs, with the rollback as the last one.
func (e *pluginEntry) stages() (names []string) {
	if e.settings.Analysis {
		names = append(names, appfile.StageAnalysis)
	}
	if e.settings.Wait {
		names = append(names, appfile.StageWait)
	}
	return append(names, ourStages...)
}

// runs reports whether the plugin runs a stage.
func (e *pluginEntry) runs(name string) bool { return slices.Contains(e.stages(), name) }

// loadedApp is an application from a source, with the pipeline of its file.
type loadedApp struct {
	app      *appfile.Application
	pipeline []string // names of all stages, including other plugins'
	commit   string
}

// loadApplication reads an application from a prepared repository. It omits other plugins' parts of
// the application file, which those plugins validate.
func (e *pluginEntry) loadApplication(src *contract.DeploymentSource) (*loadedApp, error) {
	if e.problem != nil {
		return nil, e.problem
	}
	if src.GetApplicationDirectory() == "" {
		return nil, &sluice.Error{Op: "read the application", Err: errors.New("piped sent no files")}
	}
	name := cmp.Or(src.GetApplicationConfigFilename(), "app.pipecd.yaml")
	providers, err := e.settings.providersFile()
	if err != nil {
		return nil, err
	}
	loaded := &loadedApp{commit: src.GetCommitHash()}
	loaded.app, err = appfile.LoadText(folder.New(src.GetApplicationDirectory()), name, src.GetApplicationConfig(),
		func(file *definition.Source) error {
			spec := file.Root.Get("spec")
			loaded.pipeline = stageNames(spec)
			if err := e.refuseUnreadGates(file, spec); err != nil {
				return err
			}
			return e.removeOthers(file, spec)
		}, providers)
	if err != nil {
		return nil, err
	}
	if err := e.refuseGates(loaded.app); err != nil {
		return nil, err
	}
	return loaded, nil
}

func stageNames(spec *definition.Node) (names []string) {
	for _, item := range values.Items(spec.Get("pipeline").Get("stages")) {
		names = append(names, values.Text(item.Get("name")))
	}
	return names
}

// removeOthers removes the sections and the stages of other plugins from the tree of an application file.
func (e *pluginEntry) removeOthers(file *definition.Source, spec *definition.Node) error {
	if plugins := spec.Get("plugins"); plugins != nil && plugins.Kind == definition.Map {
		if plugins.Get(e.Name) == nil {
			return &sluice.Error{Op: "read the application", Resource: file.File,
				Err:  fmt.Errorf("spec.plugins has no entry %s", e.Name),
				Next: "name the section of this plugin " + e.Name + ", as in piped's configuration"}
		}
		plugins.Entries = slices.DeleteFunc(plugins.Entries, func(entry definition.Entry) bool { return entry.Key != e.Name })
	}
	if stages := spec.Get("pipeline").Get("stages"); stages != nil {
		stages.Items = slices.DeleteFunc(stages.Items, func(item *definition.Node) bool {
			return e.isForeign(values.Text(item.Get("name")))
		})
	}
	return nil
}

// isForeign reports whether another plugin runs a stage.
func (e *pluginEntry) isForeign(name string) bool {
	return !e.runs(name) && !strings.HasPrefix(name, "ECS_")
}
