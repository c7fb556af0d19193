package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sluice-ecs/sluice/internal/cli"
	"github.com/sluice-ecs/sluice/internal/cli/session"
)

// The scripts run this binary again as sluice: the command line whole, with what
// [wrapped] puts into its seams; and as a world of its own, see [serveGround].
func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "8") // they wait for the local AWS most of the time; a flag overrides it
	testscript.Main(m, map[string]func(){
		"sluice": func() { os.Exit(cli.Main(wrapped(session.OS()))) },
		"ground": func() {
			if err := serveGround(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		},
	})
}

// TestScripts runs testdata/script. Each begins with a sentence on what it shows.
func TestScripts(t *testing.T) { runScripts(t, "testdata/script") }

// TestLongScripts runs testdata/long: scripts of several deployments, each of which waits for AWS.
func TestLongScripts(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-long runs it")
	}
	runScripts(t, "testdata/long")
}

func runScripts(t *testing.T, folder string) {
	testscript.Run(t, testscript.Params{
		Dir:                 folder,
		Setup:               setup,
		Cmds:                commands,
		RequireExplicitExec: true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
	})
}

// setup gives each script a machine of its own: no credentials, no Region, a
// journal under its own folder, the examples.
func setup(env *testscript.Env) error {
	env.Setenv("XDG_STATE_HOME", env.WorkDir+"/state")
	env.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	env.Setenv("AWS_CONFIG_FILE", env.WorkDir+"/none")
	env.Setenv("AWS_SHARED_CREDENTIALS_FILE", env.WorkDir+"/none")
	env.Setenv("USER", "ana")
	action, err := filepath.Abs("../../ci/github")
	if err != nil {
		return err
	}
	env.Setenv("ACTION", action) // the shell of action.yml
	state := &script{keys: []string{killAt, "TERM", "NO_COLOR"}, beside: map[string]*beside{}}
	for _, v := range env.Vars {
		key, _, _ := strings.Cut(v, "=")
		state.keys = append(state.keys, key)
	}
	env.Values[scriptKey{}] = state
	return os.CopyFS(env.WorkDir+"/examples", os.DirFS("../../examples"))
}
