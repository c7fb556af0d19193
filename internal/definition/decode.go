package definition

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	ecsdoc "github.com/aws/aws-sdk-go-v2/service/ecs/document"
)

// decoder fills SDK structs from nodes and collects the problems.
type decoder struct {
	src      *Source
	strict   bool // refuse values that AWS refuses; otherwise AWS already has them
	problems []*Problem
}

func (d *decoder) refuse(p *Problem) { d.problems = append(d.problems, p) }

// rootOptions is how the outermost struct differs from nested ones.
type top struct {
	what     string            // "the task definition"
	readOnly []string          // members that are known and dropped
	alias    map[string]string // other names of members
	textual  []string          // text that may be written as a number
}

// decodeRoot decodes the outermost map and returns the members that it gives.
func (d *decoder) root(n *Node, v reflect.Value, t top) map[string]bool {
	given := map[string]bool{}
	if n.Kind != Map {
		d.refuse(d.src.At(n, "%s is a map of AWS's members, and this is %s", t.what, n.Kind))
		return given
	}
	all := members(v.Type())
	seen := map[string]bool{}
	for _, e := range n.Entries {
		name := e.Key
		for from, to := range t.alias {
			if strings.EqualFold(name, from) {
				name = to
			}
		}
		if containsFold(t.readOnly, name) {
			continue
		}
		m, ok := d.member(all, e, name, t.what, t.readOnly, seen)
		if !ok {
			continue
		}
		if e.Value.Kind == Null || e.Value.Kind == Text && e.Value.Text == "" && t.blank(m.name, v.Field(m.index).Type()) {
			continue
		}
		given[m.name] = true
		value := e.Value
		if slices.Contains(t.textual, m.name) && value.Kind == Number {
			value = &Node{Kind: Text, Text: value.plainNumber(), Line: value.Line, Column: value.Column}
		}
		d.value(value, v.Field(m.index), m.name)
	}
	return given
}

// isUnsetIfEmpty reports whether a member with the value "" counts as not given. It does if the
// member is an enum or has an alias, such as PipeCD's role: AWS ignores an empty one.
func (t top) blank(name string, typ reflect.Type) bool {
	for _, to := range t.alias {
		if to == name {
			return true
		}
	}
	return typ.Kind() == reflect.String && len(enumValues(typ)) > 0
}

// findMember returns the member that an entry names. A second entry for the member is a problem.
func (d *decoder) member(all []member, e Entry, name, where string, also []string, seen map[string]bool) (member, bool) {
	m, ok := named(all, name)
	if !ok {
		d.unknown(e, where, append(names(all), also...))
		return m, false
	}
	if seen[m.name] {
		d.refuse(d.src.AtKey(e, "%s is given twice in %s", m.name, where))
		return m, false
	}
	seen[m.name] = true
	return m, true
}

func (d *decoder) unknown(e Entry, where string, known []string) {
	if meant := Nearest(e.Key, known); meant != "" {
		p := d.src.AtKey(e, "unknown key %q in %s", e.Key, where)
		p.Meant = meant
		d.refuse(p)
		return
	}
	d.refuse(d.src.AtKey(e, "unknown key %q in %s: no member of AWS's, or newer than this sluice's AWS SDK", e.Key, where))
}

func containsFold(list []string, s string) bool {
	return slices.ContainsFunc(list, func(x string) bool { return strings.EqualFold(x, s) })
}

// decodeValue decodes one member. where is its path without indices.
func (d *decoder) value(n *Node, v reflect.Value, where string) {
	if n.Kind == Null {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.value(n, v.Elem(), where)
	case reflect.Struct:
		d.structure(n, v, where)
	case reflect.Slice:
		d.list(n, v, where)
	case reflect.Map:
		d.dictionary(n, v, where)
	case reflect.Interface:
		d.open(n, v, where)
	default:
		d.scalar(n, v, where)
	}
}

func (d *decoder) structure(n *Node, v reflect.Value, where string) {
	if !d.is(n, Map, where, "a map") {
		return
	}
	all, seen := members(v.Type()), map[string]bool{}
	for _, e := range n.Entries {
		if m, ok := d.member(all, e, e.Key, where, nil, seen); ok {
			d.value(e.Value, v.Field(m.index), where+"."+m.name)
		}
	}
}

func (d *decoder) list(n *Node, v reflect.Value, where string) {
	if !d.is(n, List, where, "a list") {
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Items), len(n.Items)))
	for i, item := range n.Items {
		if item.Kind == Null {
			d.refuse(d.src.At(item, "%s: an entry of the list is empty", where))
			continue
		}
		d.value(item, v.Index(i), where+"[]")
	}
}

func (d *decoder) dictionary(n *Node, v reflect.Value, where string) {
	if !d.is(n, Map, where, "a map of text") {
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for _, e := range n.Entries {
		if v.MapIndex(reflect.ValueOf(e.Key)).IsValid() {
			d.refuse(d.src.AtKey(e, "%s is given twice in %s", e.Key, where))
			continue
		}
		if e.Value.Kind == Null {
			d.refuse(d.src.AtKey(e, "%s.%s is empty; write \"\" for empty text", where, e.Key))
			continue
		}
		elem := reflect.New(v.Type().Elem()).Elem()
		d.value(e.Value, elem, where+"."+e.Key)
		v.SetMapIndex(reflect.ValueOf(e.Key), elem)
	}
}

// decodeInterface decodes unions, which are maps of one key, and open JSON content.
func (d *decoder) open(n *Node, v reflect.Value, where string) {
	if isDocument(v.Type()) {
		v.Set(reflect.ValueOf(ecsdoc.NewLazyDocument(d.content(n, where))))
		return
	}
	if !d.is(n, Map, where, "a map of one key") {
		return
	}
	choices := unionMembers(v.Type())
	known := sortedKeys(choices)
	if len(n.Entries) != 1 {
		d.refuse(d.src.At(n, "%s takes exactly one of %s", where, strings.Join(known, ", ")))
		return
	}
	e := n.Entries[0]
	for _, name := range known {
		if strings.EqualFold(name, e.Key) {
			chosen := reflect.New(choices[name])
			d.value(e.Value, chosen.Elem().FieldByName("Value"), where+"."+name)
			v.Set(chosen)
			return
		}
	}
	d.unknown(e, where, known)
}

// documentContent returns open JSON content in Go's own types.
func (d *decoder) content(n *Node, where string) any {
	switch n.Kind {
	case Map:
		out := map[string]any{}
		for _, e := range n.Entries {
			if _, twice := out[e.Key]; twice {
				d.refuse(d.src.AtKey(e, "%s is given twice in %s", e.Key, where))
			}
			out[e.Key] = d.content(e.Value, where)
		}
		return out
	case List:
		out := []any{}
		for _, item := range n.Items {
			out = append(out, d.content(item, where))
		}
		return out
	case Number:
		if i, ok := n.Int(); ok {
			return i
		}
		f, _ := n.Float()
		return f
	case Bool:
		return n.Text == "true"
	case Text:
		return n.Text
	}
	return nil
}

// requireKind reports whether the node has the kind. Another kind is a problem.
func (d *decoder) is(n *Node, kind NodeKind, where, what string) bool {
	if n.Kind != kind {
		d.refuse(d.src.At(n, "%s is %s, and this is %s", where, what, n.Kind))
		return false
	}
	return true
}

func (d *decoder) scalar(n *Node, v reflect.Value, where string) {
	switch v.Kind() {
	case reflect.String:
		d.text(n, v, where)
	case reflect.Bool:
		d.flag(n, v, where)
	case reflect.Int32, reflect.Int64:
		d.whole(n, v, where)
	case reflect.Float64:
		d.fraction(n, v, where)
	default:
		panic(fmt.Sprintf("definition: no decoder for %s of %s", v.Type(), where))
	}
}

func (d *decoder) text(n *Node, v reflect.Value, where string) {
	if n.Kind == Number || n.Kind == Bool {
		d.refuse(d.src.At(n, "%s is text, and this is %s: write it in quotes", where, n.Kind))
		return
	}
	if !d.is(n, Text, where, "text") {
		return
	}
	// PipeCD's own examples contain `pidMode: ""`: an empty enum counts as not given.
	if known := enumValues(v.Type()); len(known) > 0 && n.Text != "" && !slices.Contains(known, n.Text) {
		d.notOneOf(n, where, known)
		return
	}
	d.checkText(n, where)
	v.SetString(n.Text)
}

func (d *decoder) notOneOf(n *Node, where string, known []string) {
	p := d.src.At(n, "%s cannot be %q", where, n.Text)
	if p.Meant = Nearest(n.Text, known); p.Meant == "" {
		p.Message += fmt.Sprintf(", unless that is newer than this sluice's AWS SDK, which knows %s", strings.Join(known, ", "))
	}
	d.refuse(p)
}

func (d *decoder) flag(n *Node, v reflect.Value, where string) {
	if n.Kind == Bool {
		v.SetBool(n.Text == "true")
		return
	}
	p := d.src.At(n, "%s is true or false, and this is %s", where, n.Kind)
	if n.Kind == Text {
		switch strings.ToLower(n.Text) {
		case "true", "yes", "on", "enabled":
			p.Meant = "true"
		case "false", "no", "off", "disabled":
			p.Meant = "false"
		}
	}
	d.refuse(p)
}

func (d *decoder) whole(n *Node, v reflect.Value, where string) {
	i, ok := n.Int()
	switch {
	case n.Kind != Number:
		p := d.src.At(n, "%s is a whole number, and this is %s", where, n.Kind)
		if digits(n.Text) {
			p.Message += fmt.Sprintf(": write %s without quotes", n.Text)
		}
		d.refuse(p)
	case !ok:
		d.refuse(d.src.At(n, "%s is a whole number, and %s is none", where, n.Text))
	case v.OverflowInt(i):
		d.refuse(d.src.At(n, "%s: %s is beyond %d", where, n.Text, math.MaxInt32))
	default:
		d.checkNumber(n, i, where)
		v.SetInt(i)
	}
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

func (d *decoder) fraction(n *Node, v reflect.Value, where string) {
	f, ok := n.Float()
	if !ok {
		d.refuse(d.src.At(n, "%s is a number, and this is %s", where, n.Kind))
		return
	}
	v.SetFloat(f)
}
