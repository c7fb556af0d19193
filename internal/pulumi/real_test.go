package pulumi_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// project is a project of a real pulumi program, with a backend of its own.
type realProject struct {
	testing.TB
	dir string
	env []string
}

// newProject returns a project in a folder, with a stack "dev". Without a pulumi program, the test is skipped.
func (r *rig) newProject(dir string) *realProject {
	r.Helper()
	if _, err := exec.LookPath("pulumi"); err != nil {
		r.Skip("skipped: no pulumi program on PATH, so no full pulumi up runs")
	}
	path := []string{filepath.Dir(binary), r.TempDir(), os.Getenv("PATH")}
	self, err := os.Executable()
	must(r, err)
	if err := os.Symlink(self, filepath.Join(path[1], languageProgram)); err != nil || runtime.GOOS == "windows" {
		r.Skipf("skipped: no symbolic links here: %v", err)
	}
	p := &realProject{TB: r.TB, dir: dir, env: append(r.environ(),
		"PULUMI_BACKEND_URL=file://"+filepath.ToSlash(r.TempDir()), "PULUMI_HOME="+r.TempDir(),
		"PULUMI_CONFIG_PASSPHRASE=test", "PULUMI_SKIP_UPDATE_CHECK=true", "PULUMI_AUTOMATION_API_SKIP_VERSION_CHECK=true",
		"PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION=true", "PULUMI_DEBUG_COMMANDS=true", "PATH="+strings.Join(path, string(os.PathListSeparator)))}
	p.run("stack", "init", "dev")
	return p
}

// command returns a command of pulumi. The flag comes first, because pulumi takes words after "--" as values.
// PULUMI_DEBUG_COMMANDS of the project adds the flag --event-log.
func (p *realProject) command(args ...string) *exec.Cmd {
	c := exec.Command("pulumi", append([]string{"--non-interactive"}, args...)...)
	c.Dir, c.Env = p.dir, p.env
	return c
}

// run runs pulumi, which has to succeed.
func (p *realProject) run(args ...string) string {
	p.Helper()
	out, err := p.command(args...).CombinedOutput()
	if err != nil {
		p.Fatalf("pulumi %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// fail runs pulumi, which has to fail.
func (p *realProject) fail(args ...string) string {
	p.Helper()
	out, err := p.command(args...).CombinedOutput()
	if err == nil {
		p.Fatalf("pulumi %s did not fail:\n%s", strings.Join(args, " "), out)
	}
	return string(out)
}

// set sets values of the configuration.
func (p *realProject) set(pairs ...string) {
	p.Helper()
	for i := 0; i < len(pairs); i += 2 {
		p.run("config", "set", pairs[i], "--", pairs[i+1])
	}
}

// Values of "pulumi config set KEY -- VALUE" stay the last words. This test needs no engine.
func TestCommandsOfTheEngineEndWithTheirValues(t *testing.T) {
	args := (&realProject{}).command("config", "set", "key", "--", "-5").Args
	if flag, dashes := slices.Index(args, "--non-interactive"), slices.Index(args, "--"); flag < 0 || flag > dashes ||
		args[len(args)-1] != "-5" {
		t.Errorf("the words are %q", args)
	}
}

func expectTexts(t testing.TB, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// newWait returns a project of one wait on prod/web, in the language of this test.
func (r *rig) newWait(more ...string) *realProject {
	r.Helper()
	dir := r.TempDir()
	must(r, os.WriteFile(filepath.Join(dir, "Pulumi.yaml"), []byte("name: shop\nruntime: sluicetest\n"), 0o600))
	p := r.newProject(dir)
	p.set(append([]string{"clusterName", "prod", "serviceName", "web", "timeoutMs", "600000"}, more...)...)
	return p
}

// A real engine: preview, success, no change, a rollback that fails the update and is kept, the same update again,
// success, a replacement, and destroy.
func TestRealEngineUpdatesAndRetries(t *testing.T) {
	r := newRig(t, worldFile)
	p := r.newWait("desiredTaskDef", "web:1", "triggers", `["1"]`)
	r.serve("sim/web:v1", breaker{true, true})
	expectTexts(t, p.run("preview"), "sluice:index:WaitForEcsDeployment", "create")
	expectTexts(t, p.run("up", "--yes"), "COMPLETED", "2 created")
	expectTexts(t, p.run("up", "--yes"), "2 unchanged")

	arn := r.revision(crash)
	r.deploy(arn)
	p.set("desiredTaskDef", arn)
	for range 2 {
		expectTexts(t, p.fail("up", "--yes"), "web:2 was rolled back to web:1", "exit code 3", "next: ")
		expectTexts(t, p.run("stack", "export"), "initErrors", `"outcome": "rolled back"`)
	}
	p.run("refresh", "--yes")
	expectTexts(t, p.run("preview", "--diff"), "update")
	r.deploy(r.revision("sim/web:v3"))
	p.set("desiredTaskDef", "web:3")
	expectTexts(t, p.run("up", "--yes"), "COMPLETED", "1 updated")
	if state := p.run("stack", "export"); strings.Contains(state, "initErrors") {
		t.Errorf("errors stay: %s", state)
	}
	p.set("serviceName", "api")
	expectTexts(t, p.run("preview"), "replace")
	p.set("timeoutMs", "-5")
	expectTexts(t, p.fail("preview"), "timeoutMs", "1 or more, not -5")
	expectTexts(t, p.run("destroy", "--yes"), "2 deleted")
	if out := r.judge("web:3"); !out.Succeeded() {
		t.Errorf("destroy changed the service: %+v", out)
	}
}

// Secret inputs are encrypted in the state of a real engine, and nothing that it prints or logs has them. The
// program reads a failure that does not fail the update. Lines of progress are events of the engine.
func TestRealEngineKeepsSecrets(t *testing.T) {
	r := newRig(t, worldFile)
	p := r.newWait("failOnError", "false", "limit", "9m")
	r.serve("sim/web:v1", breaker{true, true})
	arn := r.revision(crash)
	r.deploy(arn)
	p.run("config", "set", "--secret", "desiredTaskDef", arn)
	p.run("config", "set", "--secret", "triggers", `["planted-value"]`)
	events := filepath.Join(t.TempDir(), "events.json")
	shown := p.run("up", "--yes", "--event-log", events)
	expectTexts(t, shown, "FAILED", "exit code 3", "[secret] was rolled back to web:1")
	log := string(got(os.ReadFile(events))(t))
	expectTexts(t, log, "waiting for [secret] of prod/web, at most 9m0s")
	state := p.run("stack", "export")
	expectTexts(t, state, `"ciphertext"`, `"outcome": "rolled back"`)
	for _, text := range []string{shown, log, state} {
		for _, never := range []string{"planted-value", arn, "web:2"} {
			if strings.Contains(text, never) {
				t.Errorf("%q in\n%s", never, text)
			}
		}
	}
	expectTexts(t, p.run("up", "--yes"), "1 updated") // a stored failure waits again
}

// afterCalls returns a channel that is closed at the nth call of AWS from now on, except those of the test itself.
func (r *rig) afterCalls(n int64) <-chan struct{} {
	r.Helper()
	reached, calls := make(chan struct{}), atomic.Int64{}
	pass := httputil.NewSingleHostReverseProxy(got(url.Parse(r.url))(r))
	pass.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if !strings.HasPrefix(q.URL.Path, "/_sluice/") && calls.Add(1) == n {
			close(reached)
		}
		pass.ServeHTTP(w, q)
	}))
	r.Cleanup(s.Close)
	r.url = s.URL
	return reached
}

// Ctrl-C ends the wait of a real engine immediately, and nothing of it is kept.
func TestRealEngineIsInterrupted(t *testing.T) {
	r := newRig(t, worldFile)
	waits := r.afterCalls(3)
	p := r.newWait("timeoutMs", "3600000")
	r.serve("sim/web:v1", breaker{})
	arn := r.revision("sim/web:v2?start-delay=10m")
	r.deploy(arn)
	p.set("desiredTaskDef", arn)
	up := p.command("up", "--yes")
	var out bytes.Buffer
	up.Stdout, up.Stderr = &out, &out
	must(t, up.Start())
	<-waits
	began := time.Now()
	must(t, up.Process.Signal(os.Interrupt))
	err := up.Wait()
	t.Logf("ended %s after the interrupt", time.Since(began).Round(time.Millisecond))
	if err == nil || time.Since(began) > 10*time.Second {
		t.Errorf("%v after %s\n%s", err, time.Since(began), &out)
	}
	expectTexts(t, out.String(), "the deployment continues")
	if state := p.run("stack", "export"); strings.Contains(state, "initErrors") ||
		strings.Contains(state, `"status": "`) {
		t.Errorf("state %s", state)
	}
}

// `pulumi package get-schema` returns the schema of the binary.
func TestRealEngineReadsTheSchema(t *testing.T) {
	r := newRig(t, worldFile)
	p := r.newWait()
	c := p.command("package", "get-schema", binary)
	var diagnostics bytes.Buffer
	c.Stderr = &diagnostics
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, &diagnostics)
	}
	var schema struct {
		Name      string
		Resources map[string]any
	}
	must(t, json.Unmarshal(out, &schema))
	if schema.Name != "sluice" || schema.Resources["sluice:index:WaitForEcsDeployment"] == nil {
		t.Errorf("%s", out)
	}
}

// The YAML example: a success, then a rollback that the program reads.
func TestRealEngineRunsTheExample(t *testing.T) {
	if _, err := exec.LookPath("pulumi-language-yaml"); err != nil {
		t.Skip("skipped: no pulumi-language-yaml on PATH, so the YAML example does not run")
	}
	r := newRig(t, worldFile)
	dir := t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS("../../examples/pulumi-yaml")))
	p := r.newProject(dir)
	r.serve("sim/web:v1", breaker{true, true})
	p.set("taskDefinition", "web:1")
	expectTexts(t, p.run("up", "--yes"), "COMPLETED")
	arn := r.revision(crash)
	r.deploy(arn)
	p.set("taskDefinition", arn)
	expectTexts(t, p.run("up", "--yes"), "FAILED", "exit code 3")
}
