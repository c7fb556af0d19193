package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/internal/cli/goldentest"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/journal"
)

// playedExamples are all examples, each with the world file that its page names and the
// commands that are run.
var playedExamples = []struct {
	name, world string
	commands    []string // %s is the folder
}{
	{"beside-rolling", "beside-rolling", deployAndBack},
	{"bluegreen", "canary", deployAndBack},
	{"canary", "canary", deployAndBack},
	{"codedeploy", "codedeploy", deployAndBack},
	{"discovery", "discovery", deployAndBack},
	{"discovery/bluegreen", "discovery", deployAndBack},
	{"ecspresso", "ecspresso", []string{"plan %s", "plan %s --envfile %s/prod.env", "deploy %s --envfile %s/prod.env",
		"deploy %s --envfile %s/prod.env", "rollback %s --envfile %s/prod.env",
		"deploy %s --auto-rollback --dry-run --envfile %s/prod.env", "history"}},
	{"ecspresso/codedeploy", "codedeploy", append([]string{"appspec %s"}, deployAndBack...)},
	{"environments", "environments", []string{"render taskdef %s --env dev --set TAG=v1", "deploy %s --env dev --set TAG=v1",
		"plan %s --env prod", "deploy %s --env prod --set TAG=v1", "plan %s --env prod --set TAG=v2", "history"}},
	{"experiment", "canary", []string{"plan %s", "deploy %s --no-wait", "status %s", "approve %s", "resume",
		"history"}},
	{"gates", "gates", []string{"plan %s", "deploy %s --no-wait", "status %s", "rollback", "history"}},
	{"job", "job", []string{"plan %s", "plan %s --output json", "run %s", "status %s", "history"}},
	{"migration", "migration", deployAndBack},
	{"native", "native", []string{"plan %s", "deploy %s --wait-until paused", "status %s", "continue %s --wait-until paused",
		"continue %s", "resume %s", "rollback %s --dry-run", "history"}},
	{"nlb", "nlb", deployAndBack},
	{"pipecd-v0", "canary", deployAndBack},
	{"pipecd-v1", "canary", deployAndBack},
	{"pipecd/repository/web", "canary", deployAndBack},
	{"quicksync", "canary", deployAndBack},
	{"rolling", "rolling", deployAndBack},
}

var deployAndBack = []string{"plan %s", "plan %s --output json", "deploy %s", "status %s", "deploy %s --dry-run",
	"rollback %s", "status %s", "history"}

// TestExamplesPrint compares what the commands print, into a pipe, with testdata/examples.
func TestExamplesPrint(t *testing.T) {
	noMachine(t)
	for _, e := range playedExamples {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			goldentest.Check(t, filepath.Join("examples", strings.ReplaceAll(e.name, "/", "-")+".txt"),
				playExample(t, e.name, e.world, e.commands))
		})
	}
}

func TestEveryExampleIsPlayed(t *testing.T) {
	played := map[string]bool{}
	for _, e := range playedExamples {
		played[e.name] = true
	}
	err := fs.WalkDir(os.DirFS("../../examples"), ".", func(path string, d fs.DirEntry, err error) error {
		if dir := filepath.ToSlash(filepath.Dir(path)); !played[dir] &&
			slices.Contains([]string{"sluice.yaml", "app.pipecd.yaml", "ecspresso.yml"}, d.Name()) {
			t.Errorf("examples/%s is not played", dir)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestVerifyOfEveryExample verifies the unchanged files of each example in its world.
func TestVerifyOfEveryExample(t *testing.T) {
	noMachine(t)
	options := map[string]string{"environments": " --env dev --set TAG=v1", "ecspresso": " --envfile %s/prod.env"}
	for _, e := range playedExamples {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			printed := playExample(t, e.name, e.world, []string{"verify %s --endpoint-url " + awssim.Endpoint + options[e.name]})
			if !strings.Contains(printed, "\n0 errors, 0 warnings, ") || !strings.Contains(printed, "\nexit 0\n") {
				t.Errorf("verify of examples/%s in examples/%s/world.yaml printed this, want no error and no warning:\n%s",
					e.name, e.world, printed)
			}
		})
	}
}

// playExample runs the commands one after the other in virtual time.
func playExample(t *testing.T, name, world string, commands []string) string {
	t.Helper()
	var out bytes.Buffer
	lines := make([]string, len(commands))
	for i, line := range commands {
		lines[i] = strings.ReplaceAll(line, "%s", "examples/"+name)
	}
	file := filepath.Join("../../examples", world, "world.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := playCommands(t, file, text, lines, &out, func(*session.Env, context.CancelFunc) {})
	return strings.ReplaceAll(out.String(), dir, "STATE")
}

// playCommands runs the commands one after the other in virtual time, with the world of a file.
// change changes the environment of each. It returns the folder of the journal.
func playCommands(t *testing.T, file string, text []byte, commands []string, out io.Writer,
	change func(env *session.Env, interrupt context.CancelFunc)) (dir string) {
	t.Helper()
	virtual := clock.NewVirtual(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))
	dir = t.TempDir()
	random := rand.NewChaCha8([32]byte{1})
	virtual.Run(func() {
		sim, err := awssim.New(awssim.Options{Clock: virtual, Seed: 1, Strict: true})
		if err != nil {
			t.Error(err)
			return
		}
		if err := sim.Load(file, text); err != nil {
			t.Error(err)
			return
		}
		cfg := sim.Config()
		for i, line := range commands {
			args := strings.Fields(line)
			fmt.Fprintln(out, "$ sluice "+line)
			pid := 1000 + i
			env := session.Env{
				Args: args, In: strings.NewReader(""), Out: out, Err: out, Getenv: func(string) string { return "" },
				Clock: virtual, Rand: random, HTTPClient: localClient{cfg.HTTPClient, sim}, APIOptions: cfg.APIOptions,
				Credentials: cfg.Credentials,
				OpenJournal: journal.Open, StateDir: dir,
				Disk: session.Disk{Getwd: func() (string, error) { return "/work", nil },
					FS: func(dir string) fs.FS { return os.DirFS(strings.Replace(dir, "/work", "../..", 1)) }},
				Host: "here", User: "ana", PID: pid, IsAlive: func(p int) bool { return p == pid },
				IsTerminal: func(io.Writer) bool { return false }, Size: func(io.Writer) (int, int) { return 0, 0 },
			}
			ctx, interrupt := context.WithCancel(context.Background())
			change(&env, interrupt)
			s, err := session.New(env)
			if err != nil {
				t.Error(err)
				return
			}
			code := (&program{s}).run(ctx)
			interrupt()
			fmt.Fprintf(out, "exit %d\n\n", code)
		}
	})
	return dir
}

// localClient sends the calls of AWS, and the requests that only a local AWS answers.
type localClient struct {
	aws.HTTPClient
	sim *awssim.Sim
}

func (c localClient) Do(r *http.Request) (*http.Response, error) {
	if !strings.HasPrefix(r.URL.Path, "/_sluice/") {
		return c.HTTPClient.Do(r)
	}
	answer := httptest.NewRecorder()
	c.sim.Handler().ServeHTTP(answer, r)
	return answer.Result(), nil
}
