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
	found []Difference
}

func (c *comparison) sorted() []Difference {
	slices.SortStableFunc(c.found, func(a, b Difference) int { return strings.Compare(a.Path, b.Path) })
	return c.found
}

// compareValues compares two values; nil means no value. shown is the path for people, path the one
// without indices.
func (c *comparison) values(want, have any, path, shown string) {
	if reflect.DeepEqual(want, have) || sameResource(path, want, have) {
		return
	}
	wants, wok := want.(map[string]any)
	haves, hok := have.(map[string]any)
	if wok && hok {
		c.maps(wants, haves, path, shown)
		return
	}
	if c.lists(want, have, path, shown) {
		return
	}
	d := Difference{shown, c.text(want, path), c.text(have, path)}
	if want != nil && have != nil && d.Want == d.Have {
		d.Want = changed(d.Want)
	}
	c.found = append(c.found, d)
}

func (c *comparison) maps(want, have map[string]any, path, shown string) {
	keys := map[string]bool{}
	for k := range want {
		keys[k] = true
	}
	for k := range have {
		keys[k] = true
	}
	for _, k := range sortedKeys(keys) {
		c.values(want[k], have[k], join(path, k), join(shown, k))
	}
}

// compareLists compares two lists with named entries, entry by entry. It returns false for other
// lists, which are compared and shown as one value.
func (c *comparison) lists(want, have any, path, shown string) bool {
	how, known := c.rules.orders[path]
	if !known || how.set {
		return false
	}
	wants, wok := c.byName(how, want, path)
	haves, hok := c.byName(how, have, path)
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
		c.values(wants[name], haves[name], path, fmt.Sprintf("%s[%s]", shown, name))
	}
	return true
}

// entriesByName returns the entries of a list by name, and false if two have the same name.
func (c *comparison) byName(how order, list any, path string) (map[string]any, bool) {
	items, ok := list.([]any)
	if !ok && list != nil {
		return nil, false
	}
	out := map[string]any{}
	for _, item := range items {
		name := how.name(item, c.rules.defaults, path)
		if _, twice := out[name]; twice || name == "" {
			return nil, false
		}
		out[name] = item
	}
	return out, true
}

// Sensitive replaces a value that may be secret, and SensitiveChanged a different one.
const (
	Sensitive        = "(sensitive value)"
	SensitiveChanged = "(sensitive value changed)"
)

// changedText returns a text for a value that differs from another with the same text.
func changed(shown string) string {
	switch {
	case shown == Sensitive:
		return SensitiveChanged
	case strings.Contains(shown, secret.Stars):
		return shown + " " + SensitiveChanged
	}
	return shown + " (changed)"
}

// valueText returns a value for people, without secrets and with a maximum length.
func (c *comparison) text(v any, path string) string {
	if v == nil {
		if d, ok := c.rules.defaults[path]; ok {
			return d + " (default)"
		}
		return "none"
	}
	text := []rune(c.whole(v, path))
	if len(text) > longLine {
		return string(text[:longLine]) + " …"
	}
	return string(text)
}

func (c *comparison) whole(v any, path string) string {
	if isSecret(path) {
		return Sensitive
	}
	var parts []string
	switch v := v.(type) {
	case string:
		return secret.Value(path, v)
	case []any:
		if words, ok := wordsOf(v); ok {
			return "[" + strings.Join(secret.List(path, words), ", ") + "]"
		}
		for _, item := range v {
			parts = append(parts, c.whole(item, path))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		for _, k := range sortedKeys(v) {
			parts = append(parts, k+": "+c.whole(v[k], join(path, k)))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return fmt.Sprint(v)
}

// IsSecretKey reports whether values under the key may be secret: environments, the options of log
// and volume drivers, the details of a hook.
func HoldsSecrets(key string) bool {
	return key == "environment" || key == "options" || key == "driverOpts" || key == "hookDetails"
}

// isSecret reports whether the value at a path may be secret.
func isSecret(path string) bool {
	return strings.HasSuffix(path, ".environment.value") ||
		strings.Contains(path, ".options.") && !secret.IsHarmless(lastOf(path)) ||
		strings.Contains(path, ".driverOpts.") ||
		strings.HasSuffix(path, ".hookDetails")
}

// lastName returns the last name of a path.
func lastOf(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// stringList returns a list as strings, if it has no other entries.
func wordsOf(list []any) ([]string, bool) {
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
func sameResource(path string, want, have any) bool {
	w, wok := want.(string)
	h, hok := have.(string)
	if !wok || !hok {
		return false
	}
	switch path {
	case "executionRoleArn", "taskRoleArn", "role", "cluster":
		return arnOf(h, w) || arnOf(w, h)
	case "serviceConnectConfiguration.namespace":
		// The ARN of a namespace contains its ID, and its name does not.
		return strings.HasPrefix(w, "arn:") != strings.HasPrefix(h, "arn:")
	}
	return false
}

// isARNOf reports whether an ARN is that of the role or cluster with the name.
func arnOf(arn, name string) bool {
	return strings.HasPrefix(arn, "arn:") && !strings.HasPrefix(name, "arn:") &&
		(strings.HasSuffix(arn, ":role/"+name) || strings.HasSuffix(arn, ":cluster/"+name))
}
