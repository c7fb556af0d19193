package definition

import (
	"cmp"
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
	problems []*Problem
}

// newDecoder parses a file and replaces its variables; vars is nil if it has none.
func newDecoder(file string, data []byte, vars Variables) (*decoder, error) {
	src, err := Parse(file, data)
	if err != nil {
		return nil, err
	}
	src.HideSecrets()
	d := &decoder{src: src}
	if vars != nil {
		d.problems = src.Interpolate(vars)
	}
	return d, nil
}

func (d *decoder) addProblem(p *Problem) { d.problems = append(d.problems, p) }

// rootOptions is how the outermost struct differs from nested ones.
type rootOptions struct {
	what     string            // "the task definition"
	readOnly []string          // members that are known and dropped
	alias    map[string]string // other names of members
	textual  []string          // text that may be written as a number
}

// decodeRoot decodes the outermost map and returns the members that it gives.
func (d *decoder) decodeRoot(n *Node, v reflect.Value, t rootOptions) map[string]bool {
	given := map[string]bool{}
	if n.Kind != Map {
		d.addProblem(d.src.At(n, "%s must be a map of AWS's fields, not %s", t.what, n.Kind))
		return given
	}
	all := membersOf(v.Type())
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
		m, ok := d.findMember(all, e, name, t.what, t.readOnly, seen)
		if !ok {
			continue
		}
		if e.Value.Kind == Null || e.Value.Kind == Text && e.Value.Text == "" &&
			t.isUnsetIfEmpty(m.name, v.Field(m.index).Type()) {
			continue
		}
		given[m.name] = true
		value := e.Value
		if slices.Contains(t.textual, m.name) && value.Kind == Number {
			value = &Node{Kind: Text, Text: value.PlainNumber(), Line: value.Line, Column: value.Column}
		}
		d.decodeValue(value, v.Field(m.index), m.name)
	}
	return given
}

// isUnsetIfEmpty reports whether a member with the value "" counts as not given. It does if the
// member is an enum or has an alias, such as PipeCD's role: AWS ignores an empty one.
func (t rootOptions) isUnsetIfEmpty(name string, typ reflect.Type) bool {
	for _, to := range t.alias {
		if to == name {
			return true
		}
	}
	return typ.Kind() == reflect.String && len(enumValues(typ)) > 0
}

// findMember returns the member that an entry names. A second entry for the member is a problem.
func (d *decoder) findMember(all []member, e Entry, name, where string, also []string, seen map[string]bool) (member,
	bool) {
	m, ok := memberByName(all, name)
	if !ok {
		d.addUnknownKey(e, where, append(memberNames(all), also...))
		return m, false
	}
	if seen[m.name] {
		p := d.src.AtKey(e, "%s is given twice in %s", m.name, where)
		p.Next = "remove one of the two"
		d.addProblem(p)
		return m, false
	}
	seen[m.name] = true
	return m, true
}

func (d *decoder) addUnknownKey(e Entry, where string, known []string) {
	if meant := cmp.Or(composeMember(e.Key, known), Nearest(e.Key, known)); meant != "" {
		p := d.src.AtKey(e, "unknown key %q in %s", e.Key, where)
		p.Meant = meant
		d.addProblem(p)
		return
	}
	p := d.src.AtKey(e, "unknown key %q in %s: not a field of AWS, or newer than sluice's AWS SDK", e.Key, where)
	p.Next = "correct the key, or remove it"
	d.addProblem(p)
}

// composeMember returns the member for a key of Docker Compose. It is empty if there is none.
func composeMember(key string, known []string) string {
	name := map[string]string{"ports": "portMappings", "env_file": "environmentFiles", "volumes": "mountPoints"}[key]
	if !slices.Contains(known, name) {
		return ""
	}
	return name
}

func containsFold(list []string, s string) bool {
	return slices.ContainsFunc(list, func(x string) bool { return strings.EqualFold(x, s) })
}

// decodeValue decodes one member. where is its path without indices.
func (d *decoder) decodeValue(n *Node, v reflect.Value, where string) {
	if n.Kind == Null {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.decodeValue(n, v.Elem(), where)
	case reflect.Struct:
		d.decodeStruct(n, v, where)
	case reflect.Slice:
		d.decodeList(n, v, where)
	case reflect.Map:
		d.decodeMap(n, v, where)
	case reflect.Interface:
		d.decodeInterface(n, v, where)
	default:
		d.decodeScalar(n, v, where)
	}
}

func (d *decoder) decodeStruct(n *Node, v reflect.Value, where string) {
	if !d.requireKind(n, Map, where, "a map") {
		return
	}
	all, seen := membersOf(v.Type()), map[string]bool{}
	for _, e := range n.Entries {
		if m, ok := d.findMember(all, e, e.Key, where, nil, seen); ok {
			d.decodeValue(e.Value, v.Field(m.index), where+"."+m.name)
		}
	}
}

func (d *decoder) decodeList(n *Node, v reflect.Value, where string) {
	if !d.requireKind(n, List, where, "a list") {
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Items), len(n.Items)))
	for i, item := range n.Items {
		if item.Kind == Null {
			d.addProblem(d.src.At(item, "%s: an entry of the list is empty", where))
			continue
		}
		d.decodeValue(item, v.Index(i), where+"[]")
	}
}

func (d *decoder) decodeMap(n *Node, v reflect.Value, where string) {
	if !d.requireKind(n, Map, where, "a map of text") {
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for _, e := range n.Entries {
		if v.MapIndex(reflect.ValueOf(e.Key)).IsValid() {
			p := d.src.AtKey(e, "%s is given twice in %s", e.Key, where)
			p.Next = "remove one of the two"
			d.addProblem(p)
			continue
		}
		if e.Value.Kind == Null {
			d.addProblem(d.src.AtKey(e, "%s.%s is empty; write \"\" for empty text", where, e.Key))
			continue
		}
		elem := reflect.New(v.Type().Elem()).Elem()
		d.decodeValue(e.Value, elem, where+"."+e.Key)
		v.SetMapIndex(reflect.ValueOf(e.Key), elem)
	}
}

// decodeInterface decodes unions, which are maps of one key, and open JSON content.
func (d *decoder) decodeInterface(n *Node, v reflect.Value, where string) {
	if isDocument(v.Type()) {
		v.Set(reflect.ValueOf(ecsdoc.NewLazyDocument(d.documentContent(n, where))))
		return
	}
	if !d.requireKind(n, Map, where, "a map of one key") {
		return
	}
	choices := unionMembers(v.Type())
	known := sortedKeys(choices)
	if len(n.Entries) != 1 {
		d.addProblem(d.src.At(n, "%s takes exactly one of %s", where, strings.Join(known, ", ")))
		return
	}
	e := n.Entries[0]
	for _, name := range known {
		if strings.EqualFold(name, e.Key) {
			chosen := reflect.New(choices[name])
			d.decodeValue(e.Value, chosen.Elem().FieldByName("Value"), where+"."+name)
			v.Set(chosen)
			return
		}
	}
	d.addUnknownKey(e, where, known)
}

// documentContent returns open JSON content in Go's own types.
func (d *decoder) documentContent(n *Node, where string) any {
	switch n.Kind {
	case Map:
		out := map[string]any{}
		for _, e := range n.Entries {
			if _, twice := out[e.Key]; twice {
				d.addProblem(d.src.AtKey(e, "%s is given twice in %s", e.Key, where))
			}
			out[e.Key] = d.documentContent(e.Value, where)
		}
		return out
	case List:
		out := []any{}
		for _, item := range n.Items {
			out = append(out, d.documentContent(item, where))
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
func (d *decoder) requireKind(n *Node, kind NodeKind, where, what string) bool {
	if n.Kind != kind {
		p := d.src.At(n, "%s is %s, and this is %s", where, what, n.Kind)
		p.Next = "write " + what + " here"
		if kind == List && n.Kind == Map && strings.HasSuffix(where, ".environment") {
			p.Next = `write a list of pairs here: [{name: NAME, value: "VALUE"}]`
		}
		d.addProblem(p)
		return false
	}
	return true
}

func (d *decoder) decodeScalar(n *Node, v reflect.Value, where string) {
	if n.unset {
		return
	}
	switch v.Kind() {
	case reflect.String:
		d.decodeText(n, v, where)
	case reflect.Bool:
		d.decodeBool(n, v, where)
	case reflect.Int32, reflect.Int64:
		d.decodeInteger(n, v, where)
	case reflect.Float64:
		d.decodeFloat(n, v, where)
	default:
		panic(fmt.Sprintf("definition: no decoder for %s of %s", v.Type(), where))
	}
}

func (d *decoder) decodeText(n *Node, v reflect.Value, where string) {
	if n.IsFlag() && SwitchWord(n, enumValues(v.Type())) != "" {
		d.addBadChoice(n, where, enumValues(v.Type()))
		return
	}
	if n.Kind == Number || n.Kind == Bool {
		p := d.src.At(n, "%s is text, and this is %s", where, n.Kind)
		p.Next = "write the value in quotes"
		d.addProblem(p)
		return
	}
	if !d.requireKind(n, Text, where, "text") {
		return
	}
	// PipeCD's own examples contain `pidMode: ""`: an empty enum counts as not given.
	if known := enumValues(v.Type()); len(known) > 0 && n.Text != "" && !slices.Contains(known, n.Text) {
		d.addBadChoice(n, where, known)
		return
	}
	v.SetString(n.Text)
}

func (d *decoder) addBadChoice(n *Node, where string, known []string) {
	p := d.src.At(n, "%s cannot be %q", where, n.Text)
	if p.Meant = cmp.Or(SwitchWord(n, known), Nearest(n.Text, known)); p.Meant == "" {
		p.Message += fmt.Sprintf(", unless it is newer than sluice's AWS SDK, which knows %s",
			strings.Join(known, ", "))
		p.Next = "use one of these values"
	}
	d.addProblem(p)
}

// SwitchWord returns the value of a member such as assignPublicIp that true or false stands for; "" if there is none.
func SwitchWord(n *Node, known []string) string {
	word := map[string]string{"true": "ENABLED", "false": "DISABLED"}[strings.ToLower(n.Text)]
	if i := slices.IndexFunc(known, func(k string) bool { return strings.EqualFold(k, word) }); i >= 0 {
		return known[i]
	}
	return ""
}

func (d *decoder) decodeBool(n *Node, v reflect.Value, where string) {
	if n.IsFlag() {
		v.SetBool(n.Text == "true")
		return
	}
	p := d.src.At(n, "%s is true or false, and this is %s", where, n.Kind)
	if n.Kind == Text {
		switch word := strings.ToLower(n.Text); word {
		case "true", "false":
			p.Next = "write " + word + " without quotes"
		case "yes", "on", "enabled":
			p.Meant = "true"
		case "no", "off", "disabled":
			p.Meant = "false"
		}
	}
	if p.Meant == "" && p.Next == "" {
		p.Next = "write true or false"
	}
	d.addProblem(p)
}

func (d *decoder) decodeInteger(n *Node, v reflect.Value, where string) {
	i, ok := n.Int()
	switch {
	case !n.IsNumber():
		p := d.src.At(n, "%s is a whole number, and this is %s", where, n.Kind)
		if p.Next = "write a whole number"; isDigits(n.Text) {
			p.Next = fmt.Sprintf("write %s without quotes", n.Text)
		}
		d.addProblem(p)
	case !ok:
		p := d.src.At(n, "%s is a whole number, and %s is none", where, n.Text)
		p.Next = "write a whole number"
		d.addProblem(p)
	case v.OverflowInt(i):
		p := d.src.At(n, "%s: %s is beyond %d", where, n.Text, math.MaxInt32)
		p.Next = "write a smaller number"
		d.addProblem(p)
	default:
		v.SetInt(i)
	}
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

func (d *decoder) decodeFloat(n *Node, v reflect.Value, where string) {
	f, ok := n.Float()
	if !ok {
		p := d.src.At(n, "%s is a number, and this is %s", where, n.Kind)
		p.Next = "write a number"
		d.addProblem(p)
		return
	}
	v.SetFloat(f)
}
