package mutants

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
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
		t.Skip("it compiles the source anew")
	}
	all, err := readAll()
	if err != nil {
		t.Fatal(err)
	}
	var chosen []mutation
	for i, m := range all {
		if isSelected(i, m) {
			chosen = append(chosen, m)
		}
	}
	combined, err := combine(chosen)
	if err != nil {
		t.Fatal(err)
	}
	overlay := combined.write(t)
	for i, round := range rounds(chosen) {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			binaries := buildTests(t, overlay, packagesOf(round))
			if *runAll {
				passUnchanged(t, binaries, overlay, round)
			}
			for _, m := range round {
				t.Run(m.rule, func(t *testing.T) {
					t.Parallel()
					number, isCombined := combined.numbers[m.where]
					binary, isBuilt := binaries[m.pkg]
					if isCombined && isBuilt && m.isCaughtBy(t, binary, overlay, number) {
						return
					}
					m.mustFail(t)
				})
			}
		})
	}
}

// passUnchanged requires that the tests pass in the combined build while no mutation is chosen.
func passUnchanged(t *testing.T, binaries map[string]string, overlay string, round []mutation) {
	t.Helper()
	passed := map[string]bool{}
	for _, m := range round {
		if binary, built := binaries[m.pkg]; built && !passed[m.pkg+m.run] {
			passed[m.pkg+m.run] = true
			t.Run("unchanged "+m.pkg+" "+m.run, func(t *testing.T) {
				t.Parallel()
				if out, err := m.runTest(binary, overlay); err != nil {
					t.Errorf("without a mutation: %v\n%s", err, out)
				}
			})
		}
	}
}

// roundSize is how many packages are built at once: their test binaries need space.
const roundSize = 12

// rounds divides mutations into parts whose tests are in few packages with different last names.
func rounds(all []mutation) (parts [][]mutation) {
	var names []map[string]string // of each part: the packages by their last name
	for _, m := range all {
		last := path.Base(m.pkg)
		i := slices.IndexFunc(names, func(known map[string]string) bool {
			pkg, ok := known[last]
			return pkg == m.pkg || !ok && len(known) < roundSize
		})
		if i < 0 {
			i, names, parts = len(names), append(names, map[string]string{}), append(parts, nil)
		}
		names[i][last] = m.pkg
		parts[i] = append(parts[i], m)
	}
	return parts
}

func packagesOf(all []mutation) (pkgs []string) {
	for _, m := range all {
		if !slices.Contains(pkgs, m.pkg) {
			pkgs = append(pkgs, m.pkg)
		}
	}
	return pkgs
}

// buildTests builds the test binaries of packages at once. It returns none if they do not compile: each mutation is
// then compiled alone.
func buildTests(t *testing.T, overlay string, pkgs []string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	build := exec.Command("go", append([]string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay,
		"-o", dir + string(filepath.Separator)}, pkgs...)...)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Logf("the mutations do not compile together: %v\n%s", err, out)
		return nil
	}
	binaries := map[string]string{}
	for _, pkg := range pkgs {
		name := filepath.Join(dir, path.Base(pkg)+".test")
		if runtime.GOOS == "windows" {
			name += ".exe"
		}
		binaries[pkg] = name
	}
	return binaries
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

// isCaughtBy reports whether the mutation's test fails in a combined build.
func (m mutation) isCaughtBy(t *testing.T, binary, overlay string, number int) bool {
	out, err := m.runTest(binary, overlay, fmt.Sprintf("%s=%d", chosenVariable, number))
	var failed *exec.ExitError
	if !errors.As(err, &failed) || strings.Contains(string(out), "no tests to run") {
		return false
	}
	t.Logf("caught by %s", firstFailure(string(out)))
	return true
}

// mustFail compiles the changed source alone and runs the mutation's test over it.
func (m mutation) mustFail(t *testing.T) {
	source, err := m.apply()
	if err != nil {
		t.Fatal(err)
	}
	changed := writeOverlay(t, map[string]string{m.file: source})
	binary := filepath.Join(t.TempDir(), "mutant.test")
	build := exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", changed, "-o", binary, m.pkg)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: it does not compile, so that it proves nothing: %v\n%s", m.where, err, out)
	}
	out, err := m.runTest(binary, changed)
	var failed *exec.ExitError
	switch {
	case err != nil && !errors.As(err, &failed):
		t.Fatalf("%s: %s does not run, so that it proves nothing: %v", m.where, m.pkg, err)
	case strings.Contains(string(out), "no tests to run"):
		t.Fatalf("%s: %s has no test that matches %s", m.where, m.pkg, m.run)
	case err == nil:
		t.Fatalf("SURVIVED: %s (%s): no test of %s -run %s fails without this rule", m.rule, m.file, m.pkg, m.run)
	}
	t.Logf("caught by %s, compiled alone", firstFailure(string(out)))
}

// runTest runs the mutation's test. Some tests build a command and run it: the command has the mutation too.
func (m mutation) runTest(binary, overlay string, environ ...string) ([]byte, error) {
	args := []string{"-test.run", m.run, "-test.failfast", "-test.timeout", timeLimit.String()}
	if drawsCases(m.pkg) {
		args = append(args, "-rapid.checks=2000", "-rapid.nofailfile")
	}
	test := exec.Command(binary, args...)
	test.Dir = filepath.Join(root, m.pkg)
	test.Env = append(os.Environ(), "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -overlay="+overlay))
	test.Env = append(test.Env, environ...)
	return test.CombinedOutput()
}

// drawsCases reports whether a package has property tests. The hundred cases that such a test draws may miss a
// mutation.
func drawsCases(pkg string) bool {
	files, _ := filepath.Glob(filepath.Join(root, pkg, "*_test.go"))
	return slices.ContainsFunc(files, func(file string) bool {
		source, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(source), `"pgregory.net/rapid"`)
	})
}

// writeOverlay writes changed files, by their paths from the root, and returns the file that tells the compiler to
// read them.
func writeOverlay(t *testing.T, changed map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	replace := map[string]string{}
	for file, source := range changed {
		original, err := filepath.Abs(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		replace[original] = filepath.Join(dir, fmt.Sprintf("changed%d.go", len(replace)))
		if err := os.WriteFile(replace[original], []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return overlay
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
