package terraform

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Limits that are promised.
const (
	maxStart = 200 * time.Millisecond
	maxSize  = 25_000_000
)

// builtFolder is removed after the tests.
var builtFolder string

// binary builds the provider as `make build` does, once.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "provider")
	if err != nil {
		return "", err
	}
	builtFolder = dir
	build := exec.Command("go", "build", "-tags", "grpcnotrace", "-ldflags=-s -w", "-o", dir,
		"github.com/sluice-ecs/sluice/cmd/terraform-provider-sluice")
	out, err := build.CombinedOutput()
	if err != nil {
		os.Stderr.Write(out)
	}
	return dir, err
})

// builtProvider returns the folder of the binary.
func builtProvider(t *testing.T) string {
	t.Helper()
	dir, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestBinaryStartsFastAndIsSmall(t *testing.T) {
	program := filepath.Join(builtProvider(t), "terraform-provider-sluice")
	info, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() >= maxSize {
		t.Errorf("%d bytes, at most %d", info.Size(), maxSize)
	}
	best, took := time.Hour, time.Hour
	for range 5 {
		passed, worked := startTime(t, program)
		took, best = min(took, passed), min(best, worked)
	}
	if best >= maxStart {
		t.Errorf("it starts with %s of processor time, at most %s", best, maxStart)
	}
	t.Logf("%.1f MB, start: %s until terraform can connect, %s of processor time", float64(info.Size())/1e6, took, best)
	out, err := exec.Command(program).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "terraform starts") {
		t.Errorf("started by a person: %v %s", err, out)
	}
}

// startTime returns how long a provider takes until terraform can connect, and its processor time. Other work of the
// machine delays only the first.
func startTime(t *testing.T, program string) (took, worked time.Duration) {
	t.Helper()
	began := time.Now()
	c := exec.Command(program)
	c.Env = append(os.Environ(), cookieVariable+"=x", "PLUGIN_UNIX_SOCKET_DIR="+t.TempDir())
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	took = time.Since(began)
	_ = c.Process.Kill()
	_ = c.Wait()
	if err != nil || !strings.HasPrefix(line, "1|6|") {
		t.Fatalf("%q %v", line, err)
	}
	return took, c.ProcessState.UserTime() + c.ProcessState.SystemTime()
}

// workspace is a folder in which terraform runs with the built provider and the stand-in for "aws",
// without terraform init.
type workspace struct {
	*testing.T
	program, dir string
	env          []string
}

func (b *bed) newWorkspace(configuration string) *workspace {
	b.Helper()
	if runtime.GOOS == "windows" {
		b.Skip("this test needs symbolic links")
	}
	w := &workspace{T: b.T, program: needTerraform(b.T), dir: b.TempDir()}
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	standIn := b.TempDir()
	if err := os.Symlink(self, filepath.Join(standIn, "terraform-provider-aws")); err != nil {
		b.Fatal(err)
	}
	overrides := "provider_installation {\n  dev_overrides {\n    \"sluice-ecs/sluice\" = " +
		strconv.Quote(builtProvider(b.T)) + "\n    \"hashicorp/aws\" = " + strconv.Quote(standIn) +
		"\n  }\n  direct {}\n}\n"
	for name, text := range map[string]string{"main.tf": configuration, "overrides.tfrc": overrides} {
		if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	w.env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+filepath.Join(w.dir, "overrides.tfrc"),
		"AWS_ENDPOINT_URL="+b.url)
	return w
}

func (w *workspace) command(args ...string) *exec.Cmd {
	c := exec.CommandContext(w.Context(), w.program, args...)
	c.Dir, c.Env = w.dir, w.env
	return c
}

// run runs terraform and returns what it prints.
func (w *workspace) run(args ...string) (string, error) {
	w.Helper()
	out, err := w.command(append(args, "-no-color")...).CombinedOutput()
	return string(out), err
}

// TestExampleIsApplied applies examples/terraform with the built provider: create, an apply during a
// release, a failed update, and destroy.
func TestExampleIsApplied(t *testing.T) {
	needTerraform(t)
	example, err := os.ReadFile("../../examples/terraform/main.tf")
	if err != nil {
		t.Fatal(err)
	}
	b := newBed(t, "canary")
	w := b.newWorkspace(string(example))
	w.env = append(w.env, `TF_VAR_subnets=["subnet-0123456789abcdef0"]`, "TF_VAR_listener_arn="+listenerARN,
		"TF_VAR_stable_group_arn="+stableARN, "TF_VAR_canary_group_arn="+canaryARN)
	expect := func(wants []string, fails bool, args ...string) {
		t.Helper()
		out, err := w.run(args...)
		for _, want := range wants {
			if !strings.Contains(out, want) || (err != nil) != fails {
				t.Errorf("terraform %s: %v, want %q in\n%s", args[0], err, want, out)
			}
		}
	}
	apply := []string{"apply", "-auto-approve", "-input=false"}
	expect([]string{"4 added", `outcome = "succeeded"`}, false, apply...)
	b.shift(map[string]int32{stableARN: 80, canaryARN: 20})
	expect([]string{"0 added, 0 changed, 0 destroyed", "= 80"}, false, apply...)
	// a canary group without tasks gets a fifth of the requests: then the former version does not reach all callers
	expect([]string{"prod/shop: failed", "20 % of the requests to web-canary", "exit code 3", "next: "}, true,
		append(apply, "-var=image="+crashes)...)
	if got := b.weights(); got != `{"web-canary":20,"web-primary":80}` {
		t.Errorf("weights %s", got)
	}
	expect([]string{"sluice_wait.shop will be updated in-place"}, false, "plan", "-var=image="+crashes)
	b.shift(map[string]int32{stableARN: 100, canaryARN: 0})
	expect([]string{"prod/shop: rolled back", "exit code 3", "next: "}, true,
		append(apply, "-var=image="+crashes)...)
	// The answer to DeleteService is lost, as on a busy machine: the SDK sends it again, and the service is gone.
	if err := b.sim.Inject("lost-reply ecs:DeleteService times=1"); err != nil {
		t.Fatal(err)
	}
	expect([]string{"4 destroyed"}, false, "destroy", "-auto-approve")
}

// A sensitive trigger is in no output and in no log of an apply that fails, and terraform keeps it marked. The log has
// the lines of progress.
func TestSensitiveTriggerIsNotShown(t *testing.T) {
	needTerraform(t)
	b := newBed(t, "rolling")
	w := b.newWorkspace(`terraform {
  required_providers { sluice = { source = "sluice-ecs/sluice" } }
}
variable "key" { sensitive = true }
resource "sluice_wait" "web" {
  cluster         = "prod"
  service         = "web"
  task_definition = "` + b.deploy(crashes, true) + `"
  triggers        = { key = var.key }
}
`)
	log := filepath.Join(w.dir, "provider.log")
	w.env = append(w.env, "TF_VAR_key=planted-value", "TF_LOG_PROVIDER=INFO", "TF_LOG_PATH="+log)
	out, err := w.run("apply", "-auto-approve", "-input=false")
	if err == nil || !strings.Contains(out, "prod/web: rolled back") {
		t.Errorf("%v\n%s", err, out)
	}
	lines, err := os.ReadFile(log)
	if err != nil || !strings.Contains(string(lines), "service=prod/web") {
		t.Errorf("%v\n%s", err, lines)
	}
	shown, err := w.run("show")
	if err != nil || !strings.Contains(shown, "(sensitive value)") {
		t.Errorf("%v\n%s", err, shown)
	}
	if strings.Contains(out+string(lines)+shown, "planted-value") {
		t.Errorf("%s\n%s\n%s", out, lines, shown)
	}
}

// The example for a local AWS started by hand is valid.
func TestLocalExampleIsValid(t *testing.T) {
	needTerraform(t)
	example, err := os.ReadFile("../../examples/terraform/local/main.tf")
	if err != nil {
		t.Fatal(err)
	}
	w := newBed(t, "rolling").newWorkspace(string(example))
	if out, err := w.run("validate"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// An interrupt of terraform ends the wait, and the state has no resource.
func TestInterruptEndsTheApply(t *testing.T) {
	needTerraform(t)
	b := newBed(t, "rolling")
	w := b.newWorkspace(`terraform {
  required_providers { sluice = { source = "sluice-ecs/sluice" } }
}
resource "sluice_wait" "web" {
  cluster         = "prod"
  service         = "web"
  task_definition = "` + b.deploy(hangs, true) + `"
  timeouts { create = "50h" }
}
`)
	c := w.command("apply", "-auto-approve", "-no-color")
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	<-b.third
	interrupted := time.Now()
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	err := c.Wait()
	took := time.Since(interrupted)
	t.Logf("terraform ended %s after the interrupt", took.Round(time.Millisecond))
	if err == nil || took > 5*time.Second || !strings.Contains(out.String(), "The wait for prod/web was cancelled") {
		t.Errorf("after %s: %v\n%s", took, err, &out)
	}
	if state, err := w.run("state", "list"); strings.TrimSpace(state) != "" && !strings.Contains(state, "No state file") {
		t.Errorf("state %q %v", state, err)
	}
}
