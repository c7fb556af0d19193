package piped

import (
	"fmt"

	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/secret"
)

// hideSecrets replaces the values that may be secret in two trees. Equal values get equal
// replacements, and changed values are marked as changed.
func hideSecrets(was, now any) (any, any) {
	before := map[string]string{}
	coverValue(was, "", false, func(path, value string) bool { before[path] = value; return false })
	differs := func(path, value string) bool {
		old, had := before[path]
		return had && old != value
	}
	same := func(string, string) bool { return false }
	return coverValue(was, "", false, same), coverValue(now, "", false, differs)
}

// coverValue returns the tree with its secret values replaced. hidden means that every value here
// may be secret; differs reports whether such a value changed.
func coverValue(v any, path string, hidden bool, differs func(path, value string) bool) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			out[k] = coverValue(x, path+"."+k, hidden && k != "name" && !secret.IsHarmless(k) ||
				definition.IsSecretKey(k), differs)
		}
		return out
	case []any:
		return coverList(v, path, hidden, differs)
	}
	text := fmt.Sprint(v)
	switch shown := secret.Value(path, text); {
	case hidden:
		return chooseText(definition.Sensitive, definition.SensitiveChanged, differs(path, text))
	case shown != text:
		return chooseText(shown, shown+" "+definition.SensitiveChanged, differs(path, text))
	}
	return v
}

func chooseText(same, changed string, differs bool) string {
	if differs {
		return changed
	}
	return same
}

// coverList covers the entries of a list, and the value after a word such as --password.
func coverList(v []any, path string, hidden bool, differs func(path, value string) bool) []any {
	words := make([]string, len(v))
	for i, x := range v {
		words[i], _ = x.(string)
	}
	shown := secret.List(path, words)
	out := make([]any, 0, len(v))
	for i, x := range v {
		at := path + entryLabel(x, i)
		if words[i] != shown[i] && !hidden {
			out = append(out, chooseText(shown[i], shown[i]+" "+definition.SensitiveChanged, differs(at, words[i])))
			continue
		}
		out = append(out, coverValue(x, at, hidden, differs))
	}
	return out
}

// entryLabel identifies an entry of a list by its name, so that an entry that moved is still equal.
func entryLabel(x any, i int) string {
	if m, ok := x.(map[string]any); ok {
		if name, ok := m["name"].(string); ok {
			return "[" + name + "]"
		}
	}
	return fmt.Sprintf("[%d]", i)
}
