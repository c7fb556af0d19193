package wire

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// node is one level of a form: Actions.member.1.Type=forward is four of them.
type node struct {
	value string
	set   bool
	below map[string]*node
}

const maxDepth = 32 // deeper than any AWS input

func parseForm(form url.Values) *node {
	root := &node{}
	for key, values := range form {
		if len(values) == 0 || strings.Count(key, ".") >= maxDepth {
			continue
		}
		n := root
		for part := range strings.SplitSeq(key, ".") {
			n = n.child(part)
		}
		n.value, n.set = values[0], true
	}
	return root
}

func (n *node) child(name string) *node {
	if n.below == nil {
		n.below = map[string]*node{}
	}
	c := n.below[name]
	if c == nil {
		c = &node{}
		n.below[name] = c
	}
	return c
}

// numberedChildren returns the children named 1, 2, … in that order.
func (n *node) numberedChildren() []*node {
	var at []int
	for k := range n.below {
		if i, err := strconv.Atoi(k); err == nil && i >= 0 && strconv.Itoa(i) == k {
			at = append(at, i)
		}
	}
	sort.Ints(at)
	list := make([]*node, len(at))
	for i, k := range at {
		list[i] = n.below[strconv.Itoa(k)]
	}
	return list
}

// form reads query inputs. Parameters that the shape does not have are ignored.
type form struct{ protocol Protocol }

func (f form) decodeForm(s *shape, values url.Values) (reflect.Value, *world.Refusal) {
	v := reflect.New(s.typ)
	return v, f.setValue(s, v.Elem(), parseForm(values), "")
}

func (f form) setValue(s *shape, v reflect.Value, n *node, path string) *world.Refusal {
	switch s.kind {
	case kindPointer:
		p := reflect.New(s.elem.typ)
		v.Set(p)
		return f.setValue(s.elem, p.Elem(), n, path)
	case kindStruct:
		return f.setStruct(s, v, n, path)
	case kindList:
		return f.setList(s, v, n, path)
	case kindMap:
		return f.setMap(s, v, n, path)
	case kindUnion, kindDocument:
		return nil
	}
	if !n.set || !setText(s, v, n.value) {
		return f.invalidValue(path, n.value)
	}
	return nil
}

func (f form) setStruct(s *shape, v reflect.Value, n *node, path string) *world.Refusal {
	for i := range s.fields {
		m := &s.fields[i]
		c := n.below[m.in]
		if c == nil {
			continue
		}
		if err := f.setValue(m.shape, v.Field(m.index), c, joinPath(path, m.in)); err != nil {
			return err
		}
	}
	return nil
}

// setList reads Name.member.N, or Name.N in EC2's dialect. Clients write an empty list as "Name=".
func (f form) setList(s *shape, v reflect.Value, n *node, path string) *world.Refusal {
	if f.protocol == Query {
		if m := n.below["member"]; m != nil {
			n, path = m, joinPath(path, "member")
		}
	}
	items := n.numberedChildren()
	v.Set(reflect.MakeSlice(s.typ, len(items), len(items)))
	for i, c := range items {
		if err := f.setValue(s.elem, v.Index(i), c, fmt.Sprintf("%s.%d", path, i+1)); err != nil {
			return err
		}
	}
	return nil
}

// setMap reads Name.entry.N.key and Name.entry.N.value.
func (f form) setMap(s *shape, v reflect.Value, n *node, path string) *world.Refusal {
	m := reflect.MakeMap(s.typ)
	if e := n.below["entry"]; e != nil {
		n = e
	}
	for i, c := range n.numberedChildren() {
		k, x := c.below["key"], c.below["value"]
		if k == nil || x == nil {
			return f.invalidValue(fmt.Sprintf("%s.entry.%d", path, i+1), "")
		}
		e := reflect.New(s.elem.typ).Elem()
		if err := f.setValue(s.elem, e, x, joinPath(path, k.value)); err != nil {
			return err
		}
		m.SetMapIndex(reflect.ValueOf(k.value).Convert(s.typ.Key()), e)
	}
	v.Set(m)
	return nil
}

func setText(s *shape, v reflect.Value, t string) bool {
	switch s.kind {
	case kindString:
		v.SetString(t)
		return true
	case kindBool:
		t = strings.ToLower(t)
		v.SetBool(t == "true")
		return t == "true" || t == "false"
	case kindInt:
		i, err := strconv.ParseInt(t, 10, 64)
		if err != nil || v.OverflowInt(i) {
			return false
		}
		v.SetInt(i)
		return true
	case kindFloat:
		x, err := strconv.ParseFloat(t, 64)
		v.SetFloat(x)
		return err == nil
	case kindTime:
		x, err := time.Parse(time.RFC3339Nano, t)
		v.Set(reflect.ValueOf(x.UTC()))
		return err == nil
	case kindBlob:
		x, err := base64.StdEncoding.DecodeString(t)
		v.SetBytes(x)
		return err == nil
	}
	return false
}

func (f form) invalidValue(path, value string) *world.Refusal {
	if f.protocol == EC2Query {
		return world.Refuse("InvalidParameterValue", "Invalid value '%s' for %s", value, path)
	}
	return world.Refuse("MalformedInput", "%q is not a valid value of %s", value, path)
}

func joinPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
