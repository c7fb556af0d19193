package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/rogpeppe/go-internal/testscript"
)

// ciJob is what a CI system does for one job of examples/ci.
type ciJob struct {
	steps   []ciStep
	fetches bool     // it gets the artifacts of earlier jobs at its start
	keeps   []string // patterns of the files that it passes on, whatever its end
}

// ciStep is one shell of a job.
type ciStep struct {
	script string
	env    map[string]string
}

// ci runs a job as its CI system does: in a fresh checkout, with the artifacts of earlier jobs, in a shell that ends
// with the first failure.
func ci(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: ci FILE JOB CODE")
	}
	file, name, want := args[0], args[1], args[2]
	text := ts.ReadFile(filepath.Join("examples/ci", file))
	readers := map[string]func(*testscript.TestScript, string, string) ciJob{"github.yml": githubJob, "gitlab.yml": gitlabJob,
		"circleci.yml": circleJob, "buildkite.yml": buildkiteJob, "Jenkinsfile": jenkinsJob}
	job := readers[file](ts, text, name)
	if len(job.steps) == 0 {
		ts.Fatalf("%s has no job %s with a command", file, name)
	}
	artifacts := ts.MkAbs("artifacts")
	dir := ts.MkAbs("checkout")
	ts.Check(os.RemoveAll(dir))
	ts.Check(os.MkdirAll(artifacts, 0o755))
	ts.Check(os.CopyFS(dir, os.DirFS(ts.MkAbs("repository"))))
	if job.fetches {
		copyMatches(ts, artifacts, dir, "*")
	}
	code := job.run(ts, dir, artifacts)
	for _, pattern := range job.keeps {
		copyMatches(ts, dir, artifacts, pattern)
	}
	if strconv.Itoa(code) != want {
		ts.Fatalf("job %s of %s ended with %d, not %s", name, file, code, want)
	}
}

// run runs the steps up to the first that fails, and returns its exit code.
func (j ciJob) run(ts *testscript.TestScript, dir, artifacts string) int {
	// The agent of Buildkite, as far as its file uses it.
	const agent = "buildkite-agent() { [ \"$1 $2\" = 'artifact download' ] && cp \"$ARTIFACTS\"/$3 \"$4\"; }\n"
	for _, step := range j.steps {
		var args []string
		for name, value := range step.env {
			args = append(args, name+"="+value)
		}
		args = append(args, "ARTIFACTS="+artifacts, "bash", "-eo", "pipefail", "-c",
			"cd "+strconv.Quote(filepath.ToSlash(dir))+"\n"+agent+step.script)
		err := ts.Exec("env", args...)
		if ended, ok := err.(interface{ ExitCode() int }); ok {
			return ended.ExitCode()
		}
		ts.Check(err)
	}
	return 0
}

func copyMatches(ts *testscript.TestScript, from, to, pattern string) {
	found, err := filepath.Glob(filepath.Join(from, pattern))
	ts.Check(err)
	for _, name := range found {
		data, err := os.ReadFile(name)
		ts.Check(err)
		ts.Check(os.WriteFile(filepath.Join(to, filepath.Base(name)), data, 0o644))
	}
}

var ciExpression = regexp.MustCompile(`\$\{\{ (env|github|vars)\.([A-Za-z_]+) \}\}`)

// githubJob reads a job whose steps use the action, by the variables that action.yml gives its shell.
func githubJob(ts *testscript.TestScript, text, name string) (j ciJob) {
	type step struct {
		ID, Uses string
		With     map[string]string
	}
	var file struct {
		Jobs map[string]struct{ Steps []step }
	}
	var action struct {
		Inputs map[string]struct{ Default string }
		Runs   struct {
			Steps []struct {
				ID, Run string
				Env     map[string]string
			}
		}
	}
	ts.Check(yaml.Unmarshal([]byte(text), &file))
	source, err := os.ReadFile(filepath.Join(ts.Getenv("ACTION"), "../../action.yml"))
	ts.Check(err)
	ts.Check(yaml.Unmarshal(source, &action))
	input := regexp.MustCompile(`^\$\{\{ inputs\.([a-z0-9]+) \}\}$`)
	for _, s := range file.Jobs[name].Steps {
		uses, _, _ := strings.Cut(s.Uses, "@")
		switch uses {
		case "actions/download-artifact":
			j.fetches = true
		case "actions/upload-artifact":
			j.keeps = append(j.keeps, s.With["path"])
		case "sluice-ecs/sluice":
			env := map[string]string{"RUNNER_TEMP": ts.MkAbs("."), "GITHUB_OUTPUT": ts.MkAbs("outputs"),
				"GITHUB_STEP_SUMMARY": ts.MkAbs("summary"), "GITHUB_ACTIONS": "true"}
			run := action.Runs.Steps[len(action.Runs.Steps)-1]
			for variable, value := range run.Env {
				of := input.FindStringSubmatch(value)[1]
				given, ok := s.With[of]
				if !ok {
					given = action.Inputs[of].Default
				}
				env[variable] = ciExpression.ReplaceAllStringFunc(given, func(e string) string {
					m := ciExpression.FindStringSubmatch(e)
					return ts.Getenv(strings.TrimPrefix(strings.ToUpper(m[1])+"_", "ENV_") + strings.ToUpper(m[2]))
				})
			}
			j.steps = append(j.steps, ciStep{strings.ReplaceAll(run.Run, "$GITHUB_ACTION_PATH/ci/github", "$ACTION"), env})
		}
	}
	return j
}

// gitlabJob reads a job of the component, with the inputs of the example.
func gitlabJob(ts *testscript.TestScript, text, name string) (j ciJob) {
	var use struct {
		Include []struct{ Inputs map[string]string }
	}
	ts.Check(yaml.Unmarshal([]byte(text), &use))
	source, err := os.ReadFile(filepath.Join(ts.Getenv("ACTION"), "../../templates/sluice.yml"))
	ts.Check(err)
	head, jobs, _ := strings.Cut(string(source), "\n---\n")
	var spec struct {
		Spec struct {
			Inputs map[string]struct{ Default string }
		}
	}
	ts.Check(yaml.Unmarshal([]byte(head), &spec))
	jobs = regexp.MustCompile(`\$\[\[ inputs\.([a-z-]+) \]\]`).ReplaceAllStringFunc(jobs, func(of string) string {
		of = strings.Fields(of)[1][len("inputs."):]
		if given, ok := use.Include[0].Inputs[of]; ok {
			return given
		}
		return spec.Spec.Inputs[of].Default
	})
	type job struct {
		Script    []string
		Variables map[string]string
		Needs     []string
		Artifacts struct{ Paths []string }
	}
	var all map[string]job
	ts.Check(yaml.Unmarshal([]byte(jobs), &all))
	env := map[string]string{}
	for variable, value := range all[".sluice"].Variables {
		env[variable] = os.Expand(value, ts.Getenv)
	}
	if script := all[name].Script; len(script) > 0 {
		j.steps = []ciStep{{strings.Join(script, "\n"), env}}
	}
	j.fetches, j.keeps = len(all[name].Needs) > 0, all[name].Artifacts.Paths
	return j
}

func circleJob(ts *testscript.TestScript, text, name string) (j ciJob) {
	var file struct {
		Jobs map[string]struct{ Steps []any }
	}
	ts.Check(yaml.Unmarshal([]byte(text), &file))
	for _, s := range file.Jobs[name].Steps {
		step, _ := s.(map[string]any)
		if script, ok := step["run"].(string); ok {
			j.steps = append(j.steps, ciStep{script: script})
		}
		if _, ok := step["attach_workspace"]; ok {
			j.fetches = true
		}
		if kept, ok := step["persist_to_workspace"].(map[string]any); ok {
			for _, p := range kept["paths"].([]any) {
				j.keeps = append(j.keeps, p.(string))
			}
		}
	}
	return j
}

// buildkiteJob reads a step. Buildkite replaces variables when the file is uploaded, and $$ by $.
func buildkiteJob(ts *testscript.TestScript, text, name string) (j ciJob) {
	var file struct {
		Steps []struct {
			Key, Command  string
			ArtifactPaths []string `yaml:"artifact_paths"`
		}
	}
	ts.Check(yaml.Unmarshal([]byte(text), &file))
	for _, s := range file.Steps {
		if s.Key == name {
			j.keeps = s.ArtifactPaths
			j.steps = []ciStep{{script: os.Expand(s.Command, func(v string) string {
				if v == "$" {
					return "$"
				}
				return ""
			})}}
		}
	}
	return j
}

func jenkinsJob(_ *testscript.TestScript, text, name string) (j ciJob) {
	_, stage, _ := strings.Cut(text, "stage('"+name+"')")
	stage, _, _ = strings.Cut(stage, "stage('")
	for _, m := range regexp.MustCompile(`(?s)sh '''(.*?)'''`).FindAllStringSubmatch(stage, -1) {
		j.steps = append(j.steps, ciStep{script: m[1]})
	}
	for _, m := range regexp.MustCompile(`stash name: '[a-z]+', includes: '(.*)'`).FindAllStringSubmatch(stage, -1) {
		j.keeps = append(j.keeps, m[1])
	}
	j.fetches = strings.Contains(stage, "unstash ")
	return j
}
