package appfile_test

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/appfile/render"
)

// keyLine matches a line of YAML or JSON that begins with a key, after which it has a value or a block.
var keyLine = regexp.MustCompile(`(?m)^([ -]*)("?)([a-zA-Z_]{4,})("?:)`)

// problemLine matches the first line of a problem.
var problemLine = regexp.MustCompile(`^\S+( \(.*\))?:\d+:\d+: `)

// A misspelled key of an example is the one problem: what only follows from it is not told.
func TestMisspelledKeysAreTheOneProblem(t *testing.T) {
	refused := 0
	for _, folder := range []string{"canary", "rolling", "codedeploy", "gates", "job", "ecspresso", "pipecd-v0", "pipecd-v1", "discovery"} {
		files := filesOf(t, path.Join("../../examples", folder))
		for name, file := range files {
			text := string(file.Data)
			for _, at := range keyLine.FindAllStringSubmatchIndex(text, -1) {
				key := text[at[6]:at[7]]
				wrong := key[:1] + key[2:3] + key[1:2] + key[3:]
				if wrong == key {
					wrong = key + "s"
				}
				files[name] = &fstest.MapFile{Data: []byte(text[:at[6]] + wrong + text[at[7]:])}
				if checkMisspelled(t, files, folder+"/"+name, wrong) {
					refused++
				}
			}
			files[name] = file
		}
	}
	if refused < 100 {
		t.Errorf("%d misspelled keys were refused, want more than 100", refused)
	}
}

func filesOf(t *testing.T, folder string) fstest.MapFS {
	t.Helper()
	files, disk := fstest.MapFS{}, os.DirFS(folder)
	for _, pattern := range []string{"*.yaml", "*.json", "*.jsonnet", "*.yml", "*.tfstate"} {
		found, err := fs.Glob(disk, pattern)
		if err != nil {
			t.Fatalf("list the files of %s: %v", folder, err)
		}
		for _, name := range found {
			data, err := fs.ReadFile(disk, name)
			if err != nil {
				t.Fatalf("read %s of %s: %v", name, folder, err)
			}
			files[name] = &fstest.MapFile{Data: data}
		}
	}
	delete(files, "world.yaml")
	return files
}

// checkMisspelled checks that the first problem of files names this key, and is the only one of its file. Labels, settings and the
// like have keys of any name.
func checkMisspelled(t *testing.T, files fs.FS, place, wrong string) (refused bool) {
	t.Helper()
	always := func(string) (string, bool) { return "200", true }
	_, err := appfile.Load(files, ".", &render.Environment{Variables: always, Lookup: always})
	if err == nil || !strings.Contains(err.Error(), "unknown key \""+wrong+"\"") {
		return false
	}
	var told []string
	for line := range strings.Lines(err.Error()) {
		if problemLine.MatchString(line) && (len(told) == 0 || strings.HasPrefix(line, path.Base(place))) {
			told = append(told, line)
		}
	}
	if len(told) != 1 || !strings.Contains(told[0], wrong) {
		t.Errorf("%s with the key %s: the problems are\n%swant only that of the key in its file", place, wrong, strings.Join(told, ""))
	}
	return true
}
