package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"
)

// install runs the shell of the action that installs sluice from a folder of releases, as a runner does. It returns
// where GITHUB_PATH then leads, and the output.
func install(t *testing.T, releases string, variables ...string) (path, out string, err error) {
	t.Helper()
	temp := t.TempDir()
	added := filepath.Join(temp, "path")
	script, err := filepath.Abs("../ci/github/setup.sh")
	must(t, err)
	c := exec.Command("bash", script)
	c.Env = append(os.Environ(), "SLUICE_RELEASES=file://"+releases, "RUNNER_TEMP="+temp, "GITHUB_PATH="+added,
		"RUNNER_OS=Linux", "RUNNER_ARCH=X64", "SLUICE_VERSION=1.2.3", "SLUICE_SHA256=")
	c.Env = append(c.Env, variables...)
	text, err := c.CombinedOutput()
	data, _ := os.ReadFile(added)
	return strings.TrimSpace(string(data)), string(text), err
}

// releaseFolder is a folder of releases with version 1.2.3.
func releaseFolder(t *testing.T) string {
	t.Helper()
	for _, program := range []string{"bash", "curl", "tar"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	dir := t.TempDir()
	must(t, os.CopyFS(filepath.Join(dir, "v1.2.3"), os.DirFS(smallFiles(t))))
	return dir
}

// The action installs the program of the archive that a release has for the runner.
func TestActionInstalls(t *testing.T) {
	dir := releaseFolder(t)
	for _, version := range []string{"1.2.3", "v1.2.3"} {
		path, out, err := install(t, dir, "SLUICE_VERSION="+version)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if info, err := os.Stat(filepath.Join(path, "sluice")); err != nil || info.Mode()&0o100 == 0 {
			t.Errorf("no program in %s: %v", path, err)
		}
	}
}

// An archive with another checksum, and a version that is none, are not installed.
func TestActionRefuses(t *testing.T) {
	dir := releaseFolder(t)
	other := releaseFolder(t)
	archive := filepath.Join(other, "v1.2.3", "sluice_1.2.3_linux_amd64.tar.gz")
	must(t, os.WriteFile(archive, []byte("other bytes"), 0o644))
	unlisted := releaseFolder(t)
	must(t, os.WriteFile(filepath.Join(unlisted, "v1.2.3", "checksums.txt"), nil, 0o644))
	for _, c := range []struct{ releases, variable, want string }{
		{other, "SLUICE_SHA256=", "does not have the checksum"},
		{unlisted, "SLUICE_SHA256=", "does not have the checksum"},
		{dir, "SLUICE_SHA256=" + strings.Repeat("0", 64), "does not have the checksum"},
		{dir, "SLUICE_VERSION=9.9.9", "could not be read"},
		{dir, "SLUICE_VERSION=1.2.3; touch spliced", "must be one such as 0.1.0"},
		{dir, "SLUICE_VERSION=../1.2.3", "must be one such as 0.1.0"},
		{dir, "RUNNER_OS=Plan9", "no archive for this system"},
		{dir, "RUNNER_ARCH=X86", "no archive for this architecture"},
	} {
		path, out, err := install(t, c.releases, c.variable)
		if err == nil || path != "" || !strings.Contains(out, "::error::sluice was not installed: ") || !strings.Contains(out, c.want) {
			t.Errorf("%s: %v, %q\n%s", c.variable, err, path, out)
		}
	}
}

// No input is spliced into the shell of the action: expressions are only in the environment, conditions and outputs.
func TestActionSplicesNoInput(t *testing.T) {
	text, err := os.ReadFile("../action.yml")
	must(t, err)
	expression := regexp.MustCompile(`^\s+(SLUICE_[A-Z0-9]+|value): \$\{\{ (inputs|steps\.run\.outputs)\.[a-z0-9]+ \}\}$`)
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "${{") && !expression.MatchString(strings.TrimRight(line, "\n")) {
			t.Errorf("an expression outside of the environment: %s", line)
		}
	}
}

// A workflow can use the action with its inputs, and with no others.
func TestActionHasItsInputs(t *testing.T) {
	project, err := actionlint.NewProject("..")
	must(t, err)
	for input, want := range map[string]string{"command: plan": "", "images: app=x": "", "comand: plan": "comand"} {
		linter, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{LogWriter: io.Discard})
		must(t, err)
		found, err := linter.Lint("use.yml", []byte("on: push\npermissions: {}\njobs:\n  a:\n    runs-on: ubuntu-latest\n"+
			"    steps:\n      - id: s\n        uses: ./\n        with: {"+input+
			"}\n      - run: echo\n        env: {O: \"${{ steps.s.outputs.outcome }}\"}\n"), project)
		must(t, err)
		if (len(found) == 0) != (want == "") || len(found) > 0 && !strings.Contains(found[0].Message, want) {
			t.Errorf("%s: %v", input, found)
		}
	}
}

// The workflows of docs/ci.md and of examples/ci are such that GitHub accepts them.
func TestWorkflowsOfThePage(t *testing.T) {
	page, err := os.ReadFile("../docs/ci.md")
	must(t, err)
	_, rest, found := strings.Cut(string(page), "```yaml\nname: deploy")
	text, _, _ := strings.Cut(rest, "```")
	example, err := os.ReadFile("../examples/ci/github.yml")
	must(t, err)
	for name, workflow := range map[string]string{"docs/ci.md": "name: deploy" + text, "github.yml": string(example)} {
		linter, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{LogWriter: io.Discard})
		must(t, err)
		problems, err := linter.Lint("deploy.yml", []byte(workflow), nil)
		must(t, err)
		if !found || len(problems) > 0 {
			t.Errorf("%s: found: %t, %v", name, found, problems)
		}
	}
}

// The component for GitLab splices no input into a script.
func TestComponentSplicesNoInput(t *testing.T) {
	text, err := os.ReadFile("../templates/sluice.yml")
	must(t, err)
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "$[[") && strings.HasPrefix(strings.TrimSpace(line), "-") {
			t.Errorf("an input in a script: %s", line)
		}
	}
}
