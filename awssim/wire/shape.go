package wire

import (
	"reflect"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

type kind uint8

const (
	kindString kind = iota
	kindBool
	kindInt
	kindFloat
	kindTime
	kindBlob
	kindList
	kindMap
	kindStruct
	kindPointer
	kindUnion
	kindDocument
)

// shape is the plan of one Go type: its kind in AWS's model and the names of its fields.
type shape struct {
	kind   kind
	typ    reflect.Type
	elem   *shape         // list, map, pointer
	fields []field        // struct; union: one per member
	byName map[string]int // input name -> index into fields
	values []string       // of an enumeration

	document func(any) any // creates documents; nil if the API has none
}

// field is a field of a structure, or a member of a union. For a union, shape is that of the
// member's Value, and holder is the struct that contains it.
type field struct {
	index   int
	in, out string
	prefix  string // `"name":`
	shape   *shape
	holder  reflect.Type

	constraint *preparedConstraint // nil: none
}

// codec plans the types of one API.
type codec struct {
	api   *API
	mu    sync.Mutex
	plans map[reflect.Type]*shape
}

var timeType = reflect.TypeFor[time.Time]()

// planType returns the shape of t. Shapes are complete when it returns.
func (c *codec) planType(t reflect.Type) *shape {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shapeOf(t)
}

func (c *codec) shapeOf(t reflect.Type) *shape {
	if s, ok := c.plans[t]; ok {
		return s
	}
	s := &shape{typ: t}
	c.plans[t] = s
	switch {
	case t == timeType:
		s.kind = kindTime
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		s.kind = kindBlob
	default:
		c.fillShape(s, t)
	}
	return s
}

func (c *codec) fillShape(s *shape, t reflect.Type) {
	switch t.Kind() {
	case reflect.String:
		s.kind, s.values = kindString, valuesOf(t)
	case reflect.Bool:
		s.kind = kindBool
	case reflect.Int, reflect.Int16, reflect.Int32, reflect.Int64:
		s.kind = kindInt
	case reflect.Float32, reflect.Float64:
		s.kind = kindFloat
	case reflect.Pointer:
		s.kind, s.elem = kindPointer, c.shapeOf(t.Elem())
	case reflect.Slice:
		s.kind, s.elem = kindList, c.shapeOf(t.Elem())
	case reflect.Map:
		s.kind, s.elem = kindMap, c.shapeOf(t.Elem())
	case reflect.Struct:
		s.kind = kindStruct
		c.planMembers(s, t)
	case reflect.Interface:
		c.planUnion(s, t)
	default:
		panic("wire: no protocol carries a " + t.String())
	}
}

func (c *codec) planMembers(s *shape, t reflect.Type) {
	s.byName = map[string]int{}
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() || f.Anonymous || f.Name == "ResultMetadata" {
			continue
		}
		m := c.newField(c.memberName(t, f))
		m.index, m.shape = i, c.shapeOf(f.Type)
		if x, ok := c.api.Constraints[t.Name()+"."+f.Name]; ok {
			m.constraint = prepareConstraint(x)
		}
		s.byName[m.in] = len(s.fields)
		s.fields = append(s.fields, m)
	}
}

// planUnion plans a union, whose members are distinguished by their type's name
// ("SharingStrategyMemberRules"), or a document.
func (c *codec) planUnion(s *shape, t reflect.Type) {
	s.kind, s.byName = kindUnion, map[string]int{}
	if _, ok := t.MethodByName("MarshalSmithyDocument"); ok {
		s.kind, s.document = kindDocument, c.api.Document
		return
	}
	for _, u := range c.api.Unions {
		ut := reflect.TypeOf(u)
		if !ut.Implements(t) {
			continue
		}
		_, name, _ := strings.Cut(ut.Elem().Name(), "Member")
		value, _ := ut.Elem().FieldByName("Value")
		m := c.newField(c.casedName(name))
		m.index, m.shape, m.holder = value.Index[0], c.shapeOf(value.Type), ut.Elem()
		s.byName[m.in] = len(s.fields)
		s.fields = append(s.fields, m)
	}
}

// newField gives a field its two names. EC2's inputs begin with an upper-case letter, its outputs
// with a lower-case one.
func (c *codec) newField(name string) field {
	in, out := name, name
	if c.api.Protocol == EC2Query {
		in, out = upperFirst(name), lowerFirst(name)
	}
	return field{in: in, out: out, prefix: `"` + out + `":`}
}

func (c *codec) memberName(t reflect.Type, f reflect.StructField) string {
	if n := f.Tag.Get("wire"); n != "" {
		return n
	}
	if n, ok := c.api.Names[t.Name()+"."+f.Name]; ok {
		return n
	}
	return c.casedName(f.Name)
}

func (c *codec) casedName(name string) string {
	if c.api.LowerFirst {
		return lowerFirst(name)
	}
	return name
}

func lowerFirst(s string) string { return firstTo(unicode.ToLower, s) }
func upperFirst(s string) string { return firstTo(unicode.ToUpper, s) }

func firstTo(f func(rune) rune, s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(f(r)) + s[n:]
}

// isAbsent reports whether an output omits v: a nil pointer, list or map, an empty enumeration
// value, or a zero time. Plain numbers and booleans are always written, as on AWS.
func (s *shape) isAbsent(v reflect.Value) bool {
	switch s.kind {
	case kindPointer, kindList, kindMap, kindUnion, kindDocument, kindBlob:
		return v.IsNil()
	case kindString:
		return v.Len() == 0
	case kindTime:
		return v.Interface().(time.Time).IsZero()
	}
	return false
}

// deepCopy returns a deep copy of v, changed as by transport: times in UTC and whole milliseconds.
// Documents are shared; they are never written to.
func (s *shape) deepCopy(v reflect.Value) reflect.Value {
	switch s.kind {
	case kindTime:
		return reflect.ValueOf(v.Interface().(time.Time).UTC().Truncate(time.Millisecond))
	case kindPointer:
		return s.copyPointer(v)
	case kindBlob, kindList:
		return s.copyList(v)
	case kindMap:
		return s.copyMap(v)
	case kindStruct:
		return s.copyStruct(v)
	case kindUnion:
		return s.copyUnion(v)
	}
	return v
}

func (s *shape) copyPointer(v reflect.Value) reflect.Value {
	if v.IsNil() {
		return v
	}
	p := reflect.New(s.elem.typ)
	p.Elem().Set(s.elem.deepCopy(v.Elem()))
	return p
}

func (s *shape) copyList(v reflect.Value) reflect.Value {
	if v.IsNil() {
		return v
	}
	l := reflect.MakeSlice(s.typ, v.Len(), v.Len())
	if s.elem == nil || s.elem.kind == kindString {
		reflect.Copy(l, v)
		return l
	}
	for i := range v.Len() {
		l.Index(i).Set(s.elem.deepCopy(v.Index(i)))
	}
	return l
}

func (s *shape) copyMap(v reflect.Value) reflect.Value {
	if v.IsNil() {
		return v
	}
	m := reflect.MakeMapWithSize(s.typ, v.Len())
	for it := v.MapRange(); it.Next(); {
		m.SetMapIndex(it.Key(), s.elem.deepCopy(it.Value()))
	}
	return m
}

func (s *shape) copyStruct(v reflect.Value) reflect.Value {
	p := reflect.New(s.typ).Elem()
	for i := range s.fields {
		f := &s.fields[i]
		p.Field(f.index).Set(f.shape.deepCopy(v.Field(f.index)))
	}
	return p
}

func (s *shape) copyUnion(v reflect.Value) reflect.Value {
	f := s.unionMember(v)
	if f == nil {
		return reflect.Zero(s.typ)
	}
	p := reflect.New(f.holder)
	p.Elem().Field(f.index).Set(f.shape.deepCopy(v.Elem().Elem().Field(f.index)))
	return p
}

// unionMember returns the member that a union value holds, or nil.
func (s *shape) unionMember(v reflect.Value) *field {
	if v.IsNil() || v.Elem().IsNil() {
		return nil
	}
	for i := range s.fields {
		if s.fields[i].holder == v.Elem().Elem().Type() {
			return &s.fields[i]
		}
	}
	return nil
}
