package appfile

import (
	"strings"

	"github.com/sluice-ecs/sluice/internal/appfile/values"
	"github.com/sluice-ecs/sluice/internal/definition"
)

// IgnoredField is a difference that PipeCD's live state does not show.
type IgnoredField struct {
	Kind string // such as "service" or "taskDefinition"
	Path string // and what is below it
}

// Covers reports whether a difference is the field, or is below it.
func (f IgnoredField) Covers(kind, path string) bool {
	plain := func(s string) string { return strings.ToLower(strings.ReplaceAll(s, " ", "")) }
	below, ok := strings.CutPrefix(path, f.Path)
	return f.Path != "" && plain(f.Kind) == plain(kind) && ok && (below == "" || below[0] == '.' || below[0] == '[')
}

// ignoredFields reads driftDetection.ignoreFields. piped refuses a file with an entry that is not KIND#PATH.
func ignoredFields(list *definition.Node) (all []IgnoredField) {
	for _, text := range values.Texts(list) {
		kind, path, _ := strings.Cut(text, "#")
		all = append(all, IgnoredField{kind, path})
	}
	return all
}
