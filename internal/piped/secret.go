package piped

import "fmt"

// What is shown in place of values that may be secret.
const (
	notShown = "not shown"
	changed  = "not shown (changed)"
)

// secretKeys hold values that may be secret, as package definition knows them.
var secretKeys = map[string]bool{"environment": true, "options": true, "driverOpts": true, "hookDetails": true}

// hide replaces the values that may be secret in two trees: the same where they
// are equal, and tells where they changed.
func hide(was, now any) (any, any) {
	before := map[string]string{}
	collect(was, "", false, before)
	return cover(was, "", false, nil), cover(now, "", false, before)
}

// collect takes the secret values of a tree by their path.
func collect(v any, path string, secret bool, into map[string]string) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			collect(x, path+"."+k, secret && k != "name" || secretKeys[k], into)
		}
	case []any:
		for i, x := range v {
			collect(x, path+label(x, i), secret, into)
		}
	default:
		if secret {
			into[path] = fmt.Sprint(v)
		}
	}
}

// cover is the tree with its secret values replaced; before has those to compare
// with, nil compares nothing.
func cover(v any, path string, secret bool, before map[string]string) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			out[k] = cover(x, path+"."+k, secret && k != "name" || secretKeys[k], before)
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for i, x := range v {
			out = append(out, cover(x, path+label(x, i), secret, before))
		}
		return out
	}
	if !secret {
		return v
	}
	if was, had := before[path]; had && was != fmt.Sprint(v) {
		return changed
	}
	return notShown
}

// label is the place of an entry of a list: by its name, so that one that moved is
// still the same.
func label(x any, i int) string {
	if m, ok := x.(map[string]any); ok {
		if name, ok := m["name"].(string); ok {
			return "[" + name + "]"
		}
	}
	return fmt.Sprintf("[%d]", i)
}
