package piped

import (
	"flag"
	"os"
	"strings"
	"testing"
)

// No advice of the project, in the words of PipeCD, names a command or a flag of the command line.
// testdata/advice.golden has those that are reworded; a person who reads them needs no command line.
func TestAdviceNamesNoCommands(t *testing.T) {
	t.Parallel()
	all, err := os.ReadFile("../layers/testdata/next.golden")
	if err != nil {
		t.Fatal(err)
	}
	var reworded strings.Builder
	for next := range strings.Lines(string(all)) {
		next = strings.TrimRight(next, "\r\n")
		got := pipedAdvice(next)
		if hasOwnCommand(got) || got == "" {
			t.Errorf("%q becomes %q", next, got)
		}
		if got != next && got != commonAdvice {
			reworded.WriteString(next + "\n\t" + got + "\n")
		}
	}
	const golden = "testdata/advice.golden"
	if flag.Lookup("update").Value.String() == "true" { // the flag of TestPolicy too
		if err := os.WriteFile(golden, []byte(reworded.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got := reworded.String(); got != strings.ReplaceAll(string(want), "\r\n", "\n") {
		t.Errorf("not as in %s, run go test ./internal/piped -run %s -update and read the difference:\n%s", golden,
			t.Name(), got)
	}
}

func TestOwnCommandsAreRecognized(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"run sluice status to see the tasks":                              true,
		"set --region eu-west-1":                                          true,
		"give the folder (--deployment is for one)":                       true,
		"see the rule: aws elbv2 describe-rules --rule-arns a":            false,
		"see it: aws ecs describe-tasks --tasks a; then run sluice abort": true,
		"set onOtherTargets: remove to have sluice drain and delete it":   false,
		"deploy again": false,
	} {
		if got := hasOwnCommand(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}
