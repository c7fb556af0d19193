package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/internal/cli/goldentest"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/journal"
)

// pipecdShapes is how many shapes of files PipeCD's examples and documentation have for ECS.
const pipecdShapes = 39

// TestPipeCDFilesArePlanned compares the plans of applications in the shapes of PipeCD's examples and
// documentation with those expected. Each file of testdata/pipecd has an application and, as its part
// "plan", what sluice plan prints. Files that a case does not have are in shared.txtar. -update writes
// the plans again.
func TestPipeCDFilesArePlanned(t *testing.T) {
	noMachine(t)
	names, err := filepath.Glob("testdata/pipecd/*/*.txtar")
	if err != nil || len(names) != pipecdShapes {
		t.Fatalf("%d files, not %d: %v", len(names), pipecdShapes, err)
	}
	shared := readArchive(t, "testdata/pipecd/shared.txtar")
	for _, name := range names {
		t.Run(filepath.ToSlash(name), func(t *testing.T) {
			t.Parallel()
			a, files := readArchive(t, name), fstest.MapFS{}
			for _, f := range append(shared.Files, a.Files...) {
				files["app/"+f.Name] = &fstest.MapFile{Data: f.Data}
			}
			got := planFiles(t, files)
			last := len(a.Files) - 1
			if a.Files[last].Name != "plan" {
				a.Files, last = append(a.Files, txtar.File{Name: "plan"}), last+1
			}
			want := strings.ReplaceAll(string(a.Files[last].Data), "\r\n", "\n")
			switch {
			case got == want:
			case goldentest.IsUpdate():
				a.Files[last].Data = []byte(got)
				if err := os.WriteFile(name, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
			default:
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

func readArchive(t *testing.T, name string) *txtar.Archive {
	t.Helper()
	a, err := txtar.ParseFile(name)
	if err != nil || len(a.Files) == 0 {
		t.Fatalf("%s: %v, %d files", name, err, len(a.Files))
	}
	return a
}

// planFiles returns what sluice plan prints for the application, in its world.
func planFiles(t *testing.T, files fstest.MapFS) string {
	t.Helper()
	virtual := clock.NewVirtual(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))
	var out bytes.Buffer
	virtual.Run(func() {
		sim, err := awssim.New(awssim.Options{Clock: virtual, Seed: 1, Strict: true})
		if err == nil {
			err = sim.Load("world.yaml", files["app/world.yaml"].Data)
		}
		if err != nil {
			t.Error(err)
			return
		}
		cfg := sim.Config()
		s, err := session.New(session.Env{
			Args: []string{"plan", "app", "--region", "eu-west-1"}, In: strings.NewReader(""), Out: &out, Err: &out,
			Getenv: func(string) string { return "" }, Clock: virtual, Rand: rand.NewChaCha8([32]byte{1}),
			HTTPClient: cfg.HTTPClient, APIOptions: cfg.APIOptions, Credentials: cfg.Credentials,
			OpenJournal: journal.Open, StateDir: t.TempDir(),
			Disk: session.Disk{Getwd: func() (string, error) { return "/work", nil },
				FS: func(string) fs.FS { return mustSub(t, files, "app") }},
			Host: "here", User: "ana", PID: 1,
			IsAlive: func(int) bool { return true }, IsTerminal: func(io.Writer) bool { return false },
			Size: func(io.Writer) (int, int) { return 0, 0 },
		})
		if err != nil {
			t.Error(err)
			return
		}
		fmt.Fprintf(&out, "exit %d\n", (&program{s}).run(context.Background()))
	})
	return out.String()
}

func mustSub(t *testing.T, files fs.FS, dir string) fs.FS {
	t.Helper()
	sub, err := fs.Sub(files, dir)
	if err != nil {
		t.Fatal(err)
	}
	return sub
}
