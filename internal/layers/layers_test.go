package layers

import "testing"

// checks are all rules over Go sources.
var checks = []struct {
	name  string
	check func([]*file) []string
}{
	{"arrows", checkArrows},
	{"names", checkNames},
	{"calls", checkCalls},
	{"state", checkState},
	{"clients", checkClients},
	{"commands", checkCommands},
	{"words", checkWords},
	{"tests", checkOwnTests},
	{"doc comments", checkDocComments},
}

// TestLayers holds the whole module against the rules.
func TestLayers(t *testing.T) {
	files := parseSources(t)
	if len(files) < 10 {
		t.Fatalf("found %d Go files only", len(files))
	}
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			for _, bad := range c.check(files) {
				t.Error(bad)
			}
		})
	}
}
