package simtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sluice-ecs/sluice/internal/rehearse"
)

// Each file of testdata is a case that once broke a promise. Its first lines say
// what happened.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			c := read(t, file)
			if len(c.Notes) == 0 {
				t.Error("it does not say what it is about")
			}
			if r := Run(c); len(r.Violations) > 0 {
				t.Errorf("%s\n%s: %s; %s\n%s", r.Violations, r.Outcome, r.Cause, r.State, r.Log)
			}
		})
	}
}

func read(t *testing.T, file string) rehearse.Case {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Parse(string(text))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return c
}

// A case is its text, and the same case gives the same bytes.
func TestCaseIsItsText(t *testing.T) {
	for seed := range uint64(200) {
		c := Generate(seed)
		again, err := Parse(Format(c))
		if err != nil || Format(again) != Format(c) {
			t.Fatalf("seed %d: %v\n%s\n%s", seed, err, Format(c), Format(again))
		}
		if seed%10 == 0 {
			if d := difference(Run(c), Run(again)); d != "" {
				t.Fatalf("seed %d, twice: %s", seed, d)
			}
		}
	}
}
