package definition_test

import (
	"testing"

	"github.com/sluice-ecs/sluice/internal/definition"
)

// A word that shares only half of its letters with a known one was not meant.
func TestNearestSharesMostLetters(t *testing.T) {
	for _, tt := range []struct{ word, known, want string }{
		{"name", "bake", ""}, {"eror", "errors", "errors"}, {"nmae", "name", "name"}, {"ID", "id", "id"},
		{"servicedefinition", "serviceDefinitionFile", "serviceDefinitionFile"},
	} {
		if got := definition.Nearest(tt.word, []string{tt.known}); got != tt.want {
			t.Errorf("%q of %q: %q was probably meant, want %q", tt.word, tt.known, got, tt.want)
		}
	}
}
