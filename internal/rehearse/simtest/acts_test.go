package simtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/internal/rehearse"
)

// Every word of an act can be played, by the catalogue's acts or by those of this package, and
// another word is told.
func TestEveryActCanBePlayed(t *testing.T) {
	words := append(actWords(t), "dance")
	if len(words) < 20 {
		t.Fatalf("only %d acts were found: %v", len(words), words)
	}
	for _, word := range words {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			c := rehearse.Case{World: PlainWorld(), Pipeline: CanaryPipeline(), Interventions: []rehearse.Intervention{
				{At: 20 * time.Second, Does: word + " 1 1"}}}
			isUnknown := strings.Contains(strings.Join(Run(c).Violations, "\n"), "unknown intervention: "+word)
			if isUnknown != (word == "dance") {
				t.Errorf("the act is unknown: %v", isUnknown)
			}
		})
	}
}

// actWords are the values of the constants of acts in case.go.
func actWords(t *testing.T) (words []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../case.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && spec.Type == nil && len(spec.Values) == 1 {
			if value, ok := spec.Values[0].(*ast.BasicLit); ok {
				word, err := strconv.Unquote(value.Value)
				if err != nil {
					t.Fatal(err)
				}
				words = append(words, word)
			}
		}
		return true
	})
	return words
}
