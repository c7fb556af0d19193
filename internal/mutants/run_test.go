package mutants

import (
	"encoding/json"
	"errors"
	"flag"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

var (
	runAll = flag.Bool("all", false, "run every mutation, not a tenth of them")
	only   = flag.String("only", "", "run the mutations whose rule, file or area matches this expression")
)

// root is the root of the module.
const root = "../.."

// timeLimit ends a test that a mutation made hang. A test that hangs has failed.
const timeLimit = 4 * time.Minute

// TestMutationsApply checks that every mutation still fits its source file and can be
// parsed, so that a change of the source cannot leave a mutation without effect.
func TestMutationsApply(t *testing.T) {
	all, err := readAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatal("testdata has no mutations")
	}
	for _, m := range all {
		source, err := m.apply()
		if err != nil {
			t.Error(err)
			continue
		}
		if _, err := parser.ParseFile(token.NewFileSet(), m.file, source, parser.SkipObjectResolution); err != nil {
			t.Errorf("%s: %s: %v", m.where, m.rule, err)
		}
	}
}

// TestMutationsAreCaught breaks one rule after the other and requires that its test
// fails.
func TestMutationsAreCaught(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles the source anew for each mutation")
	}
	all, err := readAll()
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range all {
		if isSelected(i, m) {
			t.Run(m.rule, func(t *testing.T) {
				t.Parallel()
				m.mustFail(t)
			})
		}
	}
}

// isSelected reports whether mutation number i runs: each with -all, those that
// match with -only, else a tenth. SLUICE_SEED_START, which CI derives from the state
// of the source, chooses the tenth.
func isSelected(i int, m mutation) bool {
	switch {
	case *only != "":
		return regexp.MustCompile(*only).MatchString(m.rule + "\n" + m.file + "\n" + m.where)
	case *runAll:
		return true
	}
	start, _ := strconv.ParseUint(os.Getenv("SLUICE_SEED_START"), 10, 64)
	return (uint64(i)+start/1000)%10 == 0
}

// mustFail runs the mutation's test over the changed source.
func (m mutation) mustFail(t *testing.T) {
	source, err := m.apply()
	if err != nil {
		t.Fatal(err)
	}
	changed := overlay(t, m.file, source)
	binary := filepath.Join(t.TempDir(), "mutant.test")
	build := exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", changed, "-o", binary, m.pkg)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: it does not compile, so that it proves nothing: %v\n%s", m.where, err, out)
	}
	test := exec.Command(binary, "-test.run", m.run, "-test.failfast", "-test.timeout", timeLimit.String())
	test.Dir = filepath.Join(root, m.pkg)
	// Some tests build a command and run it: the command has the mutation too.
	test.Env = append(os.Environ(), "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -overlay="+changed))
	defer removeRapidFiles(test.Dir)
	out, err := test.CombinedOutput()
	var failed *exec.ExitError
	switch {
	case err != nil && !errors.As(err, &failed):
		t.Fatalf("%s: %s does not run, so that it proves nothing: %v", m.where, m.pkg, err)
	case strings.Contains(string(out), "no tests to run"):
		t.Fatalf("%s: %s has no test that matches %s", m.where, m.pkg, m.run)
	case err == nil:
		t.Fatalf("SURVIVED: %s (%s): no test of %s -run %s fails without this rule", m.rule, m.file, m.pkg, m.run)
	}
	t.Logf("caught by %s", firstFailure(string(out)))
}

// removeRapidFiles removes what a property test wrote about its failure.
func removeRapidFiles(dir string) {
	_ = os.RemoveAll(filepath.Join(dir, "testdata", "rapid"))
	_ = os.Remove(filepath.Join(dir, "testdata")) // fails if it holds anything else
}

// overlay writes the file that tells the compiler to read the changed source.
func overlay(t *testing.T, file, source string) string {
	t.Helper()
	dir := t.TempDir()
	changed, path := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	original, err := filepath.Abs(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{original: changed}})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{changed: []byte(source), path: text} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// firstFailure is the name of the first test that failed, or the last line of a test
// binary that ended otherwise.
func firstFailure(out string) string {
	for _, line := range strings.Split(out, "\n") {
		if _, name, ok := strings.Cut(line, "--- FAIL: "); ok {
			return name
		}
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return lines[len(lines)-1]
}
