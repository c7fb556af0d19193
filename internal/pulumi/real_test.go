package pulumi_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Where a pulumi program is on PATH, it runs the YAML example: a success, then a rollback that the program reads.
func TestRealEngineRunsTheExample(t *testing.T) {
	if _, err := exec.LookPath("pulumi"); err != nil {
		t.Skip("skipped: no pulumi program on PATH, so no full pulumi up runs")
	}
	r := newRig(t, worldFile)
	r.serve("sim/web:v1", breaker{true, true})
	dir := t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS("../../examples/pulumi-yaml")))
	state := filepath.ToSlash(t.TempDir())
	pulumi := func(args ...string) string {
		cmd := exec.Command("pulumi", append(args, "--non-interactive")...)
		cmd.Dir = dir
		cmd.Env = append(r.environ(), "PULUMI_BACKEND_URL=file://"+state,
			"PULUMI_HOME="+filepath.Join(dir, "home"), "PULUMI_CONFIG_PASSPHRASE=test", "PULUMI_SKIP_UPDATE_CHECK=true",
			"PATH="+filepath.Dir(binary)+string(os.PathListSeparator)+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("pulumi %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	pulumi("stack", "init", "dev")
	pulumi("config", "set", "taskDefinition", "web:1")
	if out := pulumi("up", "--yes"); !strings.Contains(out, "COMPLETED") {
		t.Errorf("up: %s", out)
	}
	arn := r.revision(crash)
	r.deploy(arn)
	pulumi("config", "set", "taskDefinition", arn)
	if out := pulumi("up", "--yes"); !strings.Contains(out, "FAILED") || !strings.Contains(out, "exit code 3") {
		t.Errorf("up: %s", out)
	}
}
