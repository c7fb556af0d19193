package session

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sluice-ecs/sluice/internal/appfile/render"
	"github.com/sluice-ecs/sluice/internal/definition"
)

// A file may build more than the machine has. The limit here is small, so that the test builds little.
func TestJsonnetHasAMemoryLimit(t *testing.T) {
	arrayOf := func(n int) []byte { return fmt.Appendf(nil, "std.length(std.makeArray(%d, function(i) i))", n) }
	e := render.Environment{Bound: boundMemory(8 << 20)}
	if _, got, err := e.Evaluate(fstest.MapFS{}, "a.jsonnet", arrayOf(1000)); err != nil || string(got) != "1000\n" {
		t.Errorf("within the limit: %q, %v", got, err)
	}
	_, _, err := e.Evaluate(fstest.MapFS{}, "a.jsonnet", arrayOf(1_000_000))
	var p *definition.Problem
	if !errors.As(err, &p) || p.File != "a.jsonnet" || !strings.Contains(p.Message, "more than 8 MB of memory") ||
		!strings.Contains(p.Next, "std.makeArray") {
		t.Errorf("above the limit: %v", err)
	}
}
