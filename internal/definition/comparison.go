package definition

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice/internal/secret"
)

// comparison collects the differences of two trees in normal form.
type comparison struct {
	rules rules
	// namesNoGroups: the definition asks for the default security group
	namesNoGroups bool
	isNew         bool // the values are members of an object that AWS does not have, so without defaults
	differences   []Difference
}

func (c *comparison) sortedDifferences() []Difference {
	slices.SortStableFunc(c.differences, func(a, b Difference) int { return strings.Compare(a.Path, b.Path) })
	return c.differences
}

// compareValues compares two values; nil means no value. shown is the path for people, path the one
// without indices.
func (c *comparison) compareValues(want, have any, path, shown string) {
	if reflect.DeepEqual(want, have) || isSameResource(path, want, have) {
		return
	}
	wants, wok := want.(map[string]any)
	haves, hok := have.(map[string]any)
	if wok && hok {
		c.compareMaps(wants, haves, path, shown)
		return
	}
	if c.compareLists(want, have, path, shown) {
		return
	}
	if have == nil && c.compareAdded(want, path, shown) {
		return
	}
	_, isDefault := c.defaultOf(path)
	d := Difference{Path: shown, Want: c.valueText(want, path), Have: c.valueText(have, path),
		Added: have == nil && !isDefault, Removed: want == nil && !isDefault}
	if want != nil && have != nil && d.Want == d.Have {
		d.Want = changedText(d.Want)
	}
	c.differences = append(c.differences, d)
}

// maxAddedText is the maximum length of an added value that is one difference.
const maxAddedText = 60

// compareAdded adds the members of an added value one by one. It returns false for a value that is
// short enough for one difference, or that has no members.
func (c *comparison) compareAdded(want any, path, shown string) bool {
	if want == nil || len(c.fullText(want, path)) <= maxAddedText {
		return false
	}
	m, ok := want.(map[string]any)
	if !ok {
		return c.compareLists(want, nil, path, shown)
	}
	added := comparison{rules: c.rules, isNew: true}
	for _, k := range sortedKeys(m) {
		added.compareValues(m[k], nil, memberPath(path, k, m), joinPath(shown, k))
	}
	c.differences = append(c.differences, added.differences...)
	return true
}

// defaultOf returns the value that AWS uses for a member without one.
func (c *comparison) defaultOf(path string) (string, bool) {
	d, ok := c.rules.defaults[path]
	return d, ok && !c.isNew
}

func (c *comparison) compareMaps(want, have map[string]any, path, shown string) {
	keys := map[string]bool{}
	for k := range want {
		keys[k] = true
	}
	for k := range have {
		keys[k] = true
	}
	for _, k := range sortedKeys(keys) {
		c.compareValues(want[k], have[k], memberPath(path, k, want, have), joinPath(shown, k))
	}
}

// compareLists compares two lists with named entries, entry by entry. It returns false for other
// lists, which are compared and shown as one value.
func (c *comparison) compareLists(want, have any, path, shown string) bool {
	how, known := c.rules.orders[path]
	if !known || how.set {
		return false
	}
	wants, wok := c.entriesByName(how, want, path)
	haves, hok := c.entriesByName(how, have, path)
	if !wok || !hok {
		return false
	}
	all := map[string]bool{}
	for name := range wants {
		all[name] = true
	}
	for name := range haves {
		all[name] = true
	}
	for _, name := range sortedKeys(all) {
		c.compareValues(wants[name], haves[name], path, fmt.Sprintf("%s[%s]", shown, name))
	}
	return true
}

// entriesByName returns the entries of a list by name, and false if two have the same name.
func (c *comparison) entriesByName(how order, list any, path string) (map[string]any, bool) {
	items, ok := list.([]any)
	if !ok && list != nil {
		return nil, false
	}
	out := map[string]any{}
	for _, item := range items {
		name := how.entryName(item, c.rules.defaults, path)
		if _, twice := out[name]; twice || name == "" {
			return nil, false
		}
		out[name] = item
	}
	return out, true
}

// Sensitive replaces a value that may be secret, and SensitiveChanged a different one.
const (
	Sensitive        = "(secret value)"
	SensitiveChanged = "(secret value changed)"
)

// changedText returns a text for a value that differs from another with the same text.
func changedText(shown string) string {
	switch {
	case shown == Sensitive:
		return SensitiveChanged
	case strings.Contains(shown, secret.Stars):
		return shown + " " + SensitiveChanged
	}
	return shown + " (changed)"
}

// valueText returns a value for people, without secrets and with a maximum length.
func (c *comparison) valueText(v any, path string) string {
	if v == nil {
		if d, ok := c.defaultOf(path); ok {
			return d + " (default)"
		}
		return "none"
	}
	text := []rune(c.fullText(v, path))
	if len(text) > maxShownLine {
		return string(text[:maxShownLine]) + " …"
	}
	return string(text)
}

func (c *comparison) fullText(v any, path string) string {
	if word, _ := v.(string); isSecretPath(path) && !(isEnvironment(path) && secret.IsPlainWord(word)) {
		return Sensitive
	}
	var parts []string
	switch v := v.(type) {
	case string:
		return secret.Value(path, v)
	case []any:
		if words, ok := stringList(v); ok {
			return "[" + strings.Join(secret.List(path, words), ", ") + "]"
		}
		for _, item := range v {
			parts = append(parts, c.fullText(item, path))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		for _, k := range sortedKeys(v) {
			parts = append(parts, k+": "+c.fullText(v[k], memberPath(path, k, v)))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return fmt.Sprint(v)
}

// IsSecretKey reports whether values under the key may be secret: environments, the options of log
// and volume drivers, the details of a hook.
func IsSecretKey(key string) bool {
	return key == "environment" || key == "options" || key == "driverOpts" || key == "hookDetails"
}

// pairValue is, in a path, the value of a pair that is secret by its name, such as that of a tag API_TOKEN.
const pairValue = "value of a secret"

// memberPath returns the path of a member of objects.
func memberPath(path, key string, objects ...map[string]any) string {
	if key == "value" && slices.ContainsFunc(objects, secret.IsPair) {
		key = pairValue
	}
	return joinPath(path, key)
}

// isSecretPath reports whether the value at a path may be secret.
func isSecretPath(path string) bool {
	return isEnvironment(path) ||
		strings.Contains(path, ".options.") && !secret.IsHarmless(lastName(path)) ||
		strings.Contains(path, ".driverOpts.") ||
		strings.HasSuffix(path, ".hookDetails") || strings.HasSuffix(path, "."+pairValue)
}

// isEnvironment reports whether a path is that of a value of an environment, whose name does not say that it is secret.
func isEnvironment(path string) bool { return strings.HasSuffix(path, ".environment.value") }

// lastName returns the last name of a path.
func lastName(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// stringList returns a list as strings, if it has no other entries.
func stringList(list []any) ([]string, bool) {
	out := make([]string, len(list))
	for i, x := range list {
		text, ok := x.(string)
		if !ok {
			return nil, false
		}
		out[i] = text
	}
	return out, true
}

// isSameResource reports whether two texts name one resource where AWS accepts a name and returns
// an ARN.
func isSameResource(path string, want, have any) bool {
	w, wok := want.(string)
	h, hok := have.(string)
	if !wok || !hok {
		return false
	}
	switch path {
	case "executionRoleArn", "taskRoleArn", "role", "cluster":
		return isARNOf(h, w) || isARNOf(w, h)
	case "serviceConnectConfiguration.namespace":
		// The ARN of a namespace contains its ID, and its name does not.
		return strings.HasPrefix(w, "arn:") != strings.HasPrefix(h, "arn:")
	}
	return false
}

// isARNOf reports whether an ARN is that of the role or cluster with the name.
func isARNOf(arn, name string) bool {
	return strings.HasPrefix(arn, "arn:") && !strings.HasPrefix(name, "arn:") &&
		(strings.HasSuffix(arn, ":role/"+name) || strings.HasSuffix(arn, ":cluster/"+name))
}
