package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/internal/clock"
)

// caseBench is a folder of testdata/cases with its local AWS, in virtual time.
type caseBench struct {
	*shapeBench
	files string // the folder with the copy of the case
}

// playCase copies a case, applies edits to its files, loads its world and calls play in virtual time. An edit names a
// file and replaces a text in it.
func playCase(t *testing.T, name string, edits []caseEdit, play func(*caseBench)) {
	t.Helper()
	openCase(t, name, edits, func(b *caseBench) {
		world, err := os.ReadFile(filepath.Join(b.files, "world.yaml"))
		if err == nil {
			err = b.sim.Load("world.yaml", world)
		}
		if err != nil {
			t.Error(err)
			return
		}
		play(b)
	})
}

// playFiles is playCase with the world that sluice sim --from builds.
func playFiles(t *testing.T, name string, edits []caseEdit, play func(*caseBench)) {
	t.Helper()
	openCase(t, name, edits, func(b *caseBench) {
		if b.load() {
			play(b)
		}
	})
}

// openCase copies a case, applies edits to its files and calls play, in virtual time and with an empty world.
func openCase(t *testing.T, name string, edits []caseEdit, play func(*caseBench)) {
	t.Helper()
	b := &caseBench{shapeBench: &shapeBench{t: t, dir: t.TempDir(),
		clock: clock.NewVirtual(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))}}
	b.files = filepath.Join(b.dir, "files")
	fail(t, os.CopyFS(b.files, os.DirFS(filepath.Join("testdata/cases", name))))
	for _, e := range edits {
		b.edit(e)
	}
	var err error
	b.sim, err = awssim.New(awssim.Options{Clock: b.clock, Seed: 1, Strict: true})
	fail(t, err)
	b.clock.Run(func() { play(b) })
}

// caseEdit replaces a text of a file.
type caseEdit struct{ file, old, new string }

func (b *caseBench) edit(e caseEdit) {
	b.t.Helper()
	path := filepath.Join(b.files, e.file)
	text, err := os.ReadFile(path)
	fail(b.t, err)
	if !strings.Contains(string(text), e.old) {
		b.t.Fatalf("%s does not contain %q", e.file, e.old)
	}
	fail(b.t, os.WriteFile(path, []byte(strings.ReplaceAll(string(text), e.old, e.new)), 0o600))
}

// run runs a command on the folder and returns its exit code and its whole output.
func (b *caseBench) run(command string, args ...string) (int, string) {
	code, out, log := b.sluice(append([]string{command, "files", "--region", "us-east-1"}, args...)...)
	return code, out + log
}

// expect runs a command and requires its exit code and texts in its output. A text that begins with ! must be missing.
func (b *caseBench) expect(command string, want int, texts ...string) string {
	b.t.Helper()
	words := strings.Fields(command)
	code, out := b.run(words[0], words[1:]...)
	if code != want {
		b.t.Errorf("sluice %s: exit %d, want %d\n%s", command, code, want, out)
	}
	flat := strings.Join(strings.Fields(out), " ")
	for _, text := range texts {
		absent, isAbsent := strings.CutPrefix(text, "!")
		if has := strings.Contains(flat, absent); has == isAbsent {
			b.t.Errorf("sluice %s: text %q\n%s", command, text, out)
		}
	}
	return out
}

// describeWeb returns the service of a case as AWS describes it.
func (b *caseBench) describeWeb() ecstypes.Service {
	b.service = map[string]any{"serviceName": "web"}
	return b.describe()
}
