package layers

import (
	"flag"
	"fmt"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var updateNext = flag.Bool("update", false, "write the golden file again")

// imperatives are the words with which an advice begins.
var imperatives = strings.Fields(`add allow answer ask build change check choose continue correct create delete deploy
	deregister enable end find fix forward free give grant install leave list log lower make move name omit raise read reduce
	register remove rename report request restore roll run see set start stop switch trust unset use wait write`)

// maxSentence is how many words a sentence of an advice has at most.
const maxSentence = 25

// ownCommands are sluice's commands for what a command of the AWS CLI does.
var ownCommands = map[string]string{
	"deploy continue-deployment": "sluice approve",
	"deploy create-deployment":   "sluice deploy",
	"deploy get-deployment":      "sluice status",
	"deploy stop-deployment":     "sluice rollback",
	"deploy wait":                "sluice wait",
	"ecs create-task-set":        "sluice deploy",
	"ecs describe-services":      "sluice status",
	"ecs describe-task-sets":     "sluice status",
	"ecs list-tasks":             "sluice status",
	"ecs run-task":               "sluice run",
	"ecs wait":                   "sluice wait",
}

var (
	awsCommand  = regexp.MustCompile(`\baws ([a-z0-9-]+ [a-z-]+)`)
	sentenceEnd = regexp.MustCompile(`[.] |\. *$`)
)

// TestNextStepsArePlain checks the advice of every error, event and result against the rules, and
// compares all of it with testdata/next.golden, where a reviewer reads it in one place.
func TestNextStepsArePlain(t *testing.T) {
	flow := newTextFlow(checkTypes(t))
	found := nextSteps(flow)
	if len(found) < 200 {
		t.Errorf("found %d texts only", len(found))
	}
	texts := slices.Sorted(maps.Keys(found))
	for _, text := range texts {
		for _, bad := range adviceProblems(text) {
			t.Errorf("%s: next %q: %s", found[text], text, bad)
		}
	}
	golden := filepath.Join("testdata", "next.golden")
	got := strings.Join(texts, "\n") + "\n"
	if *updateNext {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range changedLines(strings.ReplaceAll(string(want), "\r\n", "\n"), got) {
		t.Errorf("%s: %s; run go test ./internal/layers -run TestNextSteps -update, and read the difference", golden,
			change)
	}
}

// nextSteps returns the texts that fields named Next can have, those that Session.PrintNext gets, and those that are printed
// after "next: ", with the position of each.
func nextSteps(flow *textFlow) map[string]string {
	found := map[string]string{}
	add := func(f foundText) {
		at := flow.fset.Position(f.at)
		where := fmt.Sprintf("%s:%d", at.Filename, at.Line)
		if strings.Trim(f.text, hole+" .") != "" && (found[f.text] == "" || where < found[f.text]) {
			found[f.text] = where
		}
	}
	for obj := range flow.sources {
		field, ok := obj.(*types.Var)
		if !ok || !(field.IsField() && field.Name() == "Next" || isNextOfSession(field)) {
			continue
		}
		for _, f := range flow.textsOf(obj, map[types.Object]bool{}) {
			add(f)
		}
	}
	for _, f := range flow.argumentsWith("next: ") {
		add(f)
	}
	return found
}

// isNextOfSession reports whether v is the text that Session.NextStep or PrintNext gets.
func isNextOfSession(v *types.Var) bool {
	return !v.IsField() && v.Name() == "next" && v.Pkg() != nil && strings.HasSuffix(v.Pkg().Path(), "internal/cli/session")
}

// adviceProblems returns which rules an advice breaks. A text that begins with a hole is the rest of
// one.
func adviceProblems(text string) (bad []string) {
	first := strings.Trim(strings.Fields(text)[0], ",:;.")
	if !strings.HasPrefix(text, hole) && !slices.Contains(imperatives, first) {
		bad = append(bad, fmt.Sprintf("%q is not one of the verbs in imperatives", first))
	}
	for _, sentence := range sentenceEnd.Split(text, -1) {
		if n := len(strings.Fields(sentence)); n > maxSentence {
			bad = append(bad, fmt.Sprintf("a sentence of %d words, at most %d", n, maxSentence))
		}
	}
	if word := privateWords.FindString(codeSpan.ReplaceAllString(text, "")); word != "" {
		bad = append(bad, fmt.Sprintf("%q: use a word of AWS or of the glossary", word))
	}
	for _, m := range awsCommand.FindAllStringSubmatch(text, -1) {
		if own := ownCommands[m[1]]; own != "" && !strings.Contains(text, own) {
			bad = append(bad, fmt.Sprintf("aws %s: sluice has %s", m[1], own))
		}
	}
	return bad
}

// changedLines returns the lines that only one of two texts has.
func changedLines(want, got string) (all []string) {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for _, line := range a {
		if !slices.Contains(b, line) {
			all = append(all, fmt.Sprintf("no advice reads %q any more", line))
		}
	}
	for _, line := range b {
		if !slices.Contains(a, line) {
			all = append(all, fmt.Sprintf("%q is new", line))
		}
	}
	return all
}

func TestAdviceProblems(t *testing.T) {
	for text, want := range map[string]string{
		"run sluice status to see the tasks": "",
		"sluice status":                      `"sluice" is not one of the verbs`,
		"… and deploy again":                 "",
		"wait: " + strings.Repeat("a ", maxSentence-1) + ". Then continue": "",
		"wait for " + strings.Repeat("a ", maxSentence):                    "a sentence of 27 words",
		"see what stands": `"stands": use a word`,
		"see the events: aws ecs describe-services":          "aws ecs describe-services: sluice has sluice status",
		"see the task: aws ecs describe-tasks":               "",
		"run sluice rollback, or aws deploy stop-deployment": "",
	} {
		if got := strings.Join(adviceProblems(text), "; "); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
