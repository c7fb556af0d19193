package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// tools are the scripts of docs/local-aws.md, each with a command that works if its tool is
// installed, and a text that its output has.
var tools = []struct {
	name   string
	needs  []string
	script []string // in a copy of examples/shop; $scripts is examples/local-aws
	prints string
}{
	{"aws", []string{"aws", "--version"}, []string{"sh", "$scripts/aws-cli.sh"}, "task-definition/shop:2\t4"},
	{"boto3", []string{"python3", "-c", "import boto3"}, []string{"python3", "$scripts/test_shop.py"}, "OK"},
	{"ecspresso", []string{"ecspresso", "version"}, []string{"sh", "$scripts/ecspresso.sh"}, "shop"},
	{"ci", []string{"sh", "-c", "true"}, []string{"sh", "$scripts/ci.sh", "."}, "succeeded: prod/shop runs shop:2"},
}

// TestScriptsOfTools runs each script against a local AWS of its own. It needs the tool, so a
// machine without the tool skips it.
func TestScriptsOfTools(t *testing.T) {
	scripts, err := filepath.Abs("../../examples/local-aws")
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		t.Run(tool.name, func(t *testing.T) {
			t.Parallel()
			if out, err := exec.Command(tool.needs[0], tool.needs[1:]...).CombinedOutput(); err != nil {
				t.Skipf("%s is not installed: %v %s", tool.needs[0], err, out)
			}
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS("../../examples/shop")); err != nil {
				t.Fatal(err)
			}
			env := append(os.Environ(), "XDG_STATE_HOME="+dir, "AWS_EC2_METADATA_DISABLED=true",
				"AWS_CONFIG_FILE="+dir+"/none", "AWS_SHARED_CREDENTIALS_FILE="+dir+"/none", "AWS_PAGER=")
			if tool.name != "ci" {
				env = append(env, startLike(t, dir, env)...)
			}
			var args []string
			for _, a := range tool.script {
				args = append(args, strings.Replace(a, "$scripts", scripts, 1))
			}
			c := exec.CommandContext(t.Context(), args[0], args[1:]...)
			c.Dir, c.Env = dir, env
			out, err := c.CombinedOutput()
			if err != nil || !strings.Contains(string(out), tool.prints) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// startLike starts a local AWS like the application in a folder and returns the variables to reach it.
func startLike(t *testing.T, dir string, env []string) (variables []string) {
	t.Helper()
	c := exec.Command("sluice", "sim", "--from", dir, "--listen", "127.0.0.1:0", "--speed", "40")
	c.Env, c.Stderr = env, os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	late := time.AfterFunc(patience, func() { _ = c.Process.Kill() })
	defer late.Stop()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "export ") {
			for _, m := range exported.FindAllStringSubmatch(lines.Text(), -1) {
				variables = append(variables, m[1]+"="+m[2])
			}
		}
		if strings.HasPrefix(lines.Text(), "# Ctrl-C") {
			return variables
		}
	}
	t.Fatal("sluice sim did not start")
	return nil
}
