package awssim

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write FIDELITY.md anew from the parts")

const fidelityHead = `# Fidelity

This page lists the behaviour that the simulated AWS shares with AWS, the AWS document that describes it, and the test
that verifies it. It also lists what is not simulated. Where AWS documents no behaviour, the simulator is stricter than
AWS, with a setting for it (` + "`knobs`" + ` in a world file). The default is the strictness that was observed; the
simulation of sluice generates stricter values. The program awssim/fidelity compares these rows with an AWS account.
Each package has its part; ` + "`go test ./awssim -run TestFidelity -update`" + ` generates this page from the parts.
`

// FIDELITY.md is the parts of the packages, and nothing else.
func TestFidelityIsWhole(t *testing.T) {
	parts, err := filepath.Glob("*/FIDELITY.part.md")
	if err != nil || len(parts) == 0 {
		t.Fatal(parts, err)
	}
	page := fidelityHead
	for _, part := range parts {
		text, err := os.ReadFile(part)
		if err != nil {
			t.Fatal(err)
		}
		page += "\n" + titled(filepath.Dir(part), string(text)) + "\n"
	}
	if *update {
		if err := os.WriteFile("FIDELITY.md", []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile("FIDELITY.md")
	if err != nil || string(have) != page {
		t.Errorf("FIDELITY.md is not its parts (%v); run go test ./awssim -run TestFidelity -update", err)
	}
}

// titled is a part under a heading: its own, or the name of its package.
func titled(pkg, text string) string {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "#") {
		return "## " + strings.TrimLeft(text, "# ")
	}
	return "## " + pkg + "\n\n" + text
}

var testName = regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z]\w+`)

// Every row of FIDELITY.md names a test, and each test that it names exists.
func TestEveryRowNamesATest(t *testing.T) {
	files, err := filepath.Glob("*/*_test.go")
	own, _ := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	for _, f := range append(files, own...) {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		code.Write(text)
	}
	page, err := os.ReadFile("FIDELITY.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(page), "\n") {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| behaviour |") {
			continue
		}
		names := testName.FindAllString(line, -1)
		if len(names) == 0 {
			t.Errorf("no test holds %s", line)
		}
		for _, n := range names {
			if !strings.Contains(code.String(), "func "+n) {
				t.Errorf("there is no test %s: %s", n, line)
			}
		}
	}
}
