package piped

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
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
	name := src.GetApplicationConfigFilename()
	if name == "" {
		name = "app.pipecd.yaml"
	}
	parsed, err := definition.Parse(name, src.GetApplicationConfig())
	if err != nil {
		return nil, err
	}
	spec := parsed.Root.Get("spec")
	if err := e.refuseUnreadGates(parsed, spec); err != nil {
		return nil, err
	}
	ours, err := e.ownPart(src.GetApplicationConfig(), spec)
	if err != nil {
		return nil, &sluice.Error{Op: "read the application", Resource: name, Err: err,
			Next: "name the section of this plugin " + e.Name + ", as in piped's configuration"}
	}
	providers, err := e.settings.providersFile()
	if err != nil {
		return nil, err
	}
	files := overlayFS{folder.New(src.GetApplicationDirectory()), name, ours}
	app, err := appfile.LoadWithProviders(files, name, nil, providers)
	if err != nil {
		return nil, err
	}
	if err := e.refuseGates(app); err != nil {
		return nil, err
	}
	return &loadedApp{app: app, pipeline: stageNames(spec), commit: src.GetCommitHash()}, nil
}

func stageNames(spec *definition.Node) []string {
	list := spec.Get("pipeline").Get("stages")
	if list == nil {
		return nil
	}
	var names []string
	for _, item := range list.Items {
		name := ""
		if n := item.Get("name"); n != nil {
			name = n.Text
		}
		names = append(names, name)
	}
	return names
}

// ownPart returns the application file without the parts of other plugins.
func (e *pluginEntry) ownPart(data []byte, spec *definition.Node) ([]byte, error) {
	var others []yamlBlock
	if plugins := spec.Get("plugins"); plugins != nil && plugins.Kind == definition.Map {
		if plugins.Get(e.Name) == nil {
			return nil, fmt.Errorf("spec.plugins has no entry %s", e.Name)
		}
		for _, entry := range plugins.Entries {
			if entry.Key != e.Name {
				others = append(others, yamlBlock{entry.Line, entry.Column})
			}
		}
	}
	names := stageNames(spec)
	for i, name := range names {
		if e.isForeign(name) {
			item := spec.Get("pipeline").Get("stages").Items[i]
			others = append(others, yamlBlock{item.Line, 0})
		}
	}
	if len(others) == 0 {
		return data, nil
	}
	if out, ok := removeBlocks(data, others); ok && e.holdsOwnPart(out, names) {
		return out, nil
	}
	return e.rewriteOwn(data)
}

// holdsOwnPart reports whether a file contains only the stages and the part of this plugin.
func (e *pluginEntry) holdsOwnPart(data []byte, names []string) bool {
	src, err := definition.Parse("", data)
	if err != nil {
		return false
	}
	spec := src.Root.Get("spec")
	plugins := spec.Get("plugins")
	return slices.Equal(stageNames(spec), slices.DeleteFunc(slices.Clone(names), e.isForeign)) &&
		(plugins == nil || len(plugins.Entries) == 1 && plugins.Entries[0].Key == e.Name)
}

// isForeign reports whether another plugin runs a stage.
func (e *pluginEntry) isForeign(name string) bool {
	return !e.runs(name) && !strings.HasPrefix(name, "ECS_")
}

// yamlBlock is where an entry of a map (by the column of its key) or of a list (column 0) begins,
// in lines and columns from 1.
type yamlBlock struct{ line, column int }

// removeBlocks empties the lines of blocks in YAML's block style, so every other line keeps its
// number. It returns false for other styles.
func removeBlocks(data []byte, blocks []yamlBlock) ([]byte, bool) {
	lines := bytes.Split(data, []byte("\n"))
	for _, b := range blocks {
		if b.line < 1 || b.line > len(lines) {
			return nil, false
		}
		first := string(lines[b.line-1])
		indent := len(first) - len(strings.TrimLeft(first, " "))
		if b.column == 0 && !strings.HasPrefix(first[indent:], "- ") || b.column > 0 && b.column != indent+1 {
			return nil, false
		}
		lines[b.line-1] = nil
		for i := b.line; i < len(lines) && isInside(string(lines[i]), indent); i++ {
			lines[i] = nil
		}
	}
	return bytes.Join(lines, []byte("\n")), true
}

// isInside reports whether a line belongs to a block that begins at an indent.
func isInside(line string, indent int) bool {
	text := strings.TrimLeft(line, " ")
	return strings.TrimSpace(text) == "" || len(line)-len(text) > indent || strings.HasPrefix(text, "#")
}

// rewriteOwn writes the file again without other plugins' parts. Its line numbers differ from those
// of the user's file.
func (e *pluginEntry) rewriteOwn(data []byte) ([]byte, error) {
	var file map[string]any
	if err := yaml.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	spec, _ := file["spec"].(map[string]any)
	if plugins, ok := spec["plugins"].(map[string]any); ok {
		spec["plugins"] = map[string]any{e.Name: plugins[e.Name]}
	}
	if pipeline, ok := spec["pipeline"].(map[string]any); ok {
		list, _ := pipeline["stages"].([]any)
		pipeline["stages"] = slices.DeleteFunc(list, func(item any) bool {
			stage, _ := item.(map[string]any)
			name, _ := stage["name"].(string)
			return e.isForeign(name)
		})
	}
	return yaml.MarshalWithOptions(file, yaml.JSON())
}

// overlayFS is a folder with one file replaced.
type overlayFS struct {
	fs.FS
	name string
	data []byte
}

func (o overlayFS) Open(name string) (fs.File, error) {
	if path.Clean(name) != path.Clean(o.name) {
		return o.FS.Open(name)
	}
	return &memoryFile{Reader: bytes.NewReader(o.data), name: path.Base(o.name), size: int64(len(o.data))}, nil
}

// memoryFile is a file in memory.
type memoryFile struct {
	*bytes.Reader
	name string
	size int64
}

func (t *memoryFile) Stat() (fs.FileInfo, error) { return memoryInfo{t}, nil }
func (t *memoryFile) Close() error               { return nil }

type memoryInfo struct{ *memoryFile }

func (i memoryInfo) Name() string     { return i.name }
func (i memoryInfo) Size() int64      { return i.size }
func (memoryInfo) Mode() fs.FileMode  { return 0o444 }
func (memoryInfo) ModTime() time.Time { return time.Time{} }
func (memoryInfo) IsDir() bool        { return false }
func (memoryInfo) Sys() any           { return nil }
