package cli

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/journal"
)

// runOffline runs the command line without AWS, in an empty folder.
func runOffline(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	dir := t.TempDir()
	var stdout, stderr bytes.Buffer
	env := session.Env{Args: args, In: strings.NewReader(""), Out: &stdout, Err: &stderr,
		Getenv: func(string) string { return "" }, Rand: strings.NewReader(strings.Repeat("x", 1<<10)),
		OpenJournal: journal.Open, StateDir: dir, Getwd: func() (string, error) { return dir, nil },
		FS: func(dir string) fs.FS { return os.DirFS(dir) }, Notify: func(chan<- os.Signal) func() { return func() {} },
		IsTerminal: func(io.Writer) bool { return false }, Size: func(io.Writer) (int, int) { return 0, 0 }}
	code = Main(env)
	return code, stdout.String(), stderr.String()
}

// A command of another program is answered with the command that does the same.
func TestUnknownCommandNamesAnother(t *testing.T) {
	for name, next := range otherCommands {
		code, _, errs := runOffline(t, name)
		if code != 1 || !strings.Contains(errs, `there is no command "`+name+`"`) ||
			!strings.Contains(errs, "next: "+next) {
			t.Errorf("%s: %d\n%s", name, code, errs)
		}
	}
	for args, want := range map[string]string{
		"validate":   "run sluice plan",
		"depoly":     "run sluice deploy, or sluice --help",
		"status all": "run sluice history to list the deployments of all services",
	} {
		code, _, errs := runOffline(t, strings.Fields(args)...)
		if code != 1 || !strings.Contains(errs, want) {
			t.Errorf("sluice %s: %d\n%s", args, code, errs)
		}
	}
}

// The table has no command that sluice has.
func TestOtherCommandsDoNotExist(t *testing.T) {
	s, err := session.New(session.Env{Rand: strings.NewReader(strings.Repeat("x", 1<<10)), Out: io.Discard,
		Err: io.Discard, Getenv: func(string) string { return "" }, IsTerminal: func(io.Writer) bool { return false }})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range (&program{s}).newRootCommand().Commands() {
		if otherCommands[c.Name()] != "" {
			t.Errorf("sluice %s exists, so otherCommands must not answer it", c.Name())
		}
	}
}

// --json is --output json, for every command.
func TestJSONFlag(t *testing.T) {
	for args, want := range map[string]string{
		"version --json":                       `{"version":`,
		"--json version":                       `{"version":`,
		"version --json=false":                 "sluice ",
		"rehearse --json nowhere":              "",
		"completion bash":                      "bash completion",
		"__complete rehearse --faults kil":     "killed\t",
		"__complete rehearse --faults killed,": "killed,good\t",
	} {
		_, out, errs := runOffline(t, strings.Fields(args)...)
		if !strings.Contains(out, want) {
			t.Errorf("sluice %s: %s\n%s", args, out, errs)
		}
	}
}
