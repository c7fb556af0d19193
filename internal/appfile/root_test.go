package appfile

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sluice-ecs/sluice/internal/appfile/render"
)

// The definitions of a sluice.yaml are read below its root, and their digests have the names that people see. Without a
// caller that opens the root, and in files of PipeCD, only the folder is read.
func TestRoot(t *testing.T) {
	shared := fstest.MapFS{
		"shared/taskdef.json": {Data: []byte(`{"family": "web", "containerDefinitions": [{"name": "web", "image": "web", "memory": 8}]}`)},
		"web/own.json":        {Data: []byte(`{"family": "own", "containerDefinitions": [{"name": "web", "image": "web", "memory": 8}]}`)},
	}
	opened := &render.Environment{Root: func(root string) (fs.FS, string, error) { return shared, "web", nil }}
	for _, c := range []struct {
		name, file string
		from       Evaluator
		family     string // empty: the file is refused
		want       string // the name of the definition, or part of the error
	}{
		{"shared", "root: ..\ninput: {taskDefinitionFile: ../shared/taskdef.json}", opened, "web", "../shared/taskdef.json"},
		{"own", "root: ..\ninput: {taskDefinitionFile: own.json}", opened, "own", "own.json"},
		{"above the root", "root: ..\ninput: {taskDefinitionFile: ../../taskdef.json}", opened, "", "is outside the root"},
		{"absolute", "root: ..\ninput: {taskDefinitionFile: /shared/taskdef.json}", opened, "", "is outside the root"},
		{"no root", "input: {taskDefinitionFile: ../shared/taskdef.json}", opened, "", "is outside the folder\n"},
		{"no caller", "root: ..\ninput: {taskDefinitionFile: ../shared/taskdef.json}", nil, "", "root: only the command line"},
		{"PipeCD v0", v0 + "  root: ..\n  input: {taskDefinitionFile: ../shared/taskdef.json}", opened, "", `unknown key "root"`},
		{"PipeCD v1", v1 + "  root: ..\n  plugins: {ecs: {input: {taskDefinitionFile: ../shared/taskdef.json}}}", opened, "", `unknown key "root"`},
	} {
		app, err := Load(files("sluice.yaml", c.file), ".", c.from)
		switch {
		case c.family == "":
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v", c.name, err)
			}
		case err != nil:
			t.Errorf("%s: %v", c.name, err)
		case *app.Task.Input.Family != c.family || app.Task.File != c.want || app.Source[c.want] == "":
			t.Errorf("%s: %s from %s, digests %v", c.name, *app.Task.Input.Family, app.Task.File, app.Source)
		}
	}
}
