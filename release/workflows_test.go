package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"
)

// pinned is an action at a commit, with the version for people behind it. A tag could be moved to other code.
var pinned = regexp.MustCompile(`uses: [\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)

func TestWorkflows(t *testing.T) {
	files, err := filepath.Glob("../.github/workflows/*.yml")
	must(t, err)
	if len(files) < 2 {
		t.Fatalf("only %v", files)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		for _, problem := range workflowProblems(t, file, string(text)) {
			t.Errorf("%s: %s", filepath.Base(file), problem)
		}
	}
}

func TestBadWorkflowsAreFound(t *testing.T) {
	text, err := os.ReadFile("../.github/workflows/release.yml")
	must(t, err)
	for _, c := range []struct{ old, bad, want string }{
		{"@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1", "@v7", "is not pinned"},
		{"permissions: {}\n", "", "has no permissions"},
		{"    needs: build\n", "    needs: nothing\n", "nothing"},
		{"environment: release\n    permissions:\n      contents: write", "environment: release\n    permissions: write-all",
			"write-all"},
		{"${{ github.token }}", "${{ github.tokn }}", "tokn"},
	} {
		bad := strings.Replace(string(text), c.old, c.bad, 1)
		if bad == string(text) {
			t.Errorf("%q is not in the workflow", c.old)
		}
		if got := strings.Join(workflowProblems(t, "release.yml", bad), "\n"); !strings.Contains(got, c.want) {
			t.Errorf("%q instead of %q: the problems are %q", c.bad, c.old, got)
		}
	}
}

// workflowProblems lists what actionlint finds, actions without a commit, and permissions that were left open.
func workflowProblems(t *testing.T, name, text string) (all []string) {
	t.Helper()
	linter, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{LogWriter: io.Discard})
	must(t, err)
	found, err := linter.Lint(name, []byte(text), nil)
	must(t, err)
	for _, f := range found {
		all = append(all, f.Error())
	}
	for line := range strings.SplitSeq(text, "\n") {
		if strings.Contains(line, "uses:") && !pinned.MatchString(line) {
			all = append(all, strings.TrimSpace(line)+" is not pinned to a commit")
		}
		if strings.Contains(line, "write-all") {
			all = append(all, "write-all: name each permission")
		}
	}
	if !strings.Contains(text, "\npermissions:") {
		all = append(all, "it has no permissions for all jobs")
	}
	return all
}
