package layers

import (
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// privateWords once had a meaning of this project's own. Texts for people use the words of AWS,
// Kubernetes and Terraform; docs/reference/glossary.md defines the others.
var privateWords = regexp.MustCompile(`(?i)\b(nobody|somebody|heeds?|heeding|meanwhile|anew|likewise|in the end|` +
	`by hand|go(es|ing)? on|went on|told|tells?|seizes?|giv(e|es|en|ing) back|gave back|tak(e|es|en|ing) out|took out|` +
	`puts? (in|back)|tak(e|es|en|ing) away|took away|who is found|way back|unwell|sick|fell|fallen|(at|to) rest|` +
	`in the way|outside hands?|knobs?|stands?|looks? at|looked at|looking at|lately)\b`)

// codeSpan is code in a page: keys, commands, quoted output and markers.
var codeSpan = regexp.MustCompile("(?s)```.*?```|`[^`]*`|<!--.*?-->")

// persistedTexts have private words and stay: journals, world files, recorded cases, flags of tests
// and AWS's own names have them.
var persistedTexts = regexp.MustCompile(`^(NOBODY|(yaml|json):"knobs(,omitempty)?"|` +
	`knobs(\.|\.delays|: .*)|by hand|say-unwell|` +
	`what CodeDeploy asks before it goes on|records that ECS puts back)$`)

// checkWords reports private words in the string literals of programs.
func checkWords(files []*file) (bad []string) {
	for _, f := range files {
		if f.test || strings.HasSuffix(f.name, ".pb.go") {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			s, ok := n.(*ast.BasicLit)
			if !ok || s.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(s.Value)
			if word := privateWords.FindString(codeSpan.ReplaceAllString(text, "")); err == nil && word != "" &&
				!persistedTexts.MatchString(strings.Split(text, "\n")[0]) {
				bad = append(bad, fmt.Sprintf("%s: %q in %q: use a word of AWS or of the glossary",
					f.positionOf(s.Pos()), word, text))
			}
			return true
		})
	}
	return bad
}

// TestPagesUsePlainWords refuses private words in the pages of the documentation.
func TestPagesUsePlainWords(t *testing.T) {
	root := moduleRoot(t)
	for _, pattern := range []string{"README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/*.md", "docs/adr/*.md",
		"docs/reference/*.md", "examples/*/README.md"} {
		pages, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(pages) == 0 {
			t.Fatalf("%s: %d pages, %v", pattern, len(pages), err)
		}
		for _, page := range pages {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			plain := codeSpan.ReplaceAllStringFunc(string(text), func(s string) string {
				return strings.Repeat("\n", strings.Count(s, "\n"))
			})
			for i, line := range strings.Split(plain, "\n") {
				if word := privateWords.FindString(line); word != "" {
					t.Errorf("%s:%d: %q in %q", filepath.Base(page), i+1, word, line)
				}
			}
		}
	}
}
