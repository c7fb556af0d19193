package validate

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sluice-ecs/sluice/internal/definition"
)

// requiredMember is a member that AWS's model requires in a struct, with Go's names.
type requiredMember struct{ shape, member string }

// constraint is what AWS's model requires of one member, with Go's names. A length of text or of a
// list, or the range of a number, is from min to max; a max of 0 is none.
type constraint struct {
	shape, member string
	min, max      int64
	pattern       string
}

// checkModel compares a node with AWS's model and with the documented limits. where is the path
// without indices.
func (c *checker) checkModel(n *definition.Node, t reflect.Type, where string) {
	if !isGiven(n) || n.IsUnset() {
		return
	}
	switch t.Kind() {
	case reflect.Pointer:
		c.checkModel(n, t.Elem(), where)
	case reflect.Struct:
		c.checkStruct(n, t, where)
	case reflect.Slice:
		c.checkCount(n, where)
		for _, item := range n.Items {
			c.checkModel(item, t.Elem(), where+"[]")
		}
	case reflect.Map, reflect.Interface: // text by text, unions and open content have no limits
	default:
		c.checkScalar(n, where)
	}
}

func (c *checker) checkStruct(n *definition.Node, t reflect.Type, where string) {
	if n.Kind != definition.Map {
		return // the decoder reports it
	}
	for _, e := range n.Entries {
		if e.Value.IsUnset() {
			continue
		}
		f, ok := t.FieldByNameFunc(func(name string) bool { return strings.EqualFold(name, e.Key) })
		if !ok || !f.IsExported() {
			continue
		}
		path := joinPath(where, strings.ToLower(f.Name[:1])+f.Name[1:])
		v := e.Value.For(f.Type)
		c.checkConstraint(v, t.Name(), f.Name, path)
		c.checkModel(v, f.Type, path)
	}
	if where == "" {
		return // the decoder requires the members of the definition itself
	}
	for _, r := range requiredMembers {
		if v := n.Find(r.member); r.shape == t.Name() && (!isGiven(v) || v.Kind == definition.Text && v.Text == "") {
			name := strings.ToLower(r.member[:1]) + r.member[1:]
			c.addProblem(n, "add "+name, "%s has no %s", where, name).Lacks(n, name)
		}
	}
}

func joinPath(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// checkConstraint compares a value with the constraint of AWS's model for the member, if it has one.
// It does not show the value: it may be long, or secret.
func (c *checker) checkConstraint(n *definition.Node, shape, member, where string) {
	i := slices.IndexFunc(constraints[:], func(x constraint) bool { return x.shape == shape && x.member == member })
	if i < 0 || !isGiven(n) {
		return
	}
	rule := constraints[i]
	switch n.Kind {
	case definition.Number:
		c.checkRange(n, where, float64(rule.min), rule.maximum())
	case definition.List:
		c.checkLength(n, where, "entries", len(n.Items), rule)
	case definition.Text:
		c.checkLength(n, where, "characters", utf8.RuneCountInString(n.Text), rule)
		if rule.pattern != "" && !regexp.MustCompile(`^(?:`+rule.pattern+`)$`).MatchString(n.Text) {
			c.addProblem(n, "write only characters that the pattern allows", "%s does not match AWS's pattern %s",
				where, rule.pattern)
		}
	}
}

func (r constraint) maximum() float64 {
	if r.max == 0 {
		return noMaximum
	}
	return float64(r.max)
}

func (c *checker) checkLength(n *definition.Node, where, of string, length int, rule constraint) {
	switch {
	case int64(length) < rule.min:
		c.addProblem(n, "write a longer value, or remove the key", "%s has at least %d %s, and this has %d", where,
			rule.min, of, length)
	case rule.max > 0 && int64(length) > rule.max:
		c.addProblem(n, "write a shorter value", "%s has at most %d %s, and this has %d", where, rule.max, of, length)
	}
}
