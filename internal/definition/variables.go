package definition

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/compose-spec/compose-go/v2/template"
)

// Variables returns the value of a variable that files name; false: it is not set.
type Variables func(name string) (value string, ok bool)

// Interpolate replaces ${NAME}, ${NAME:-default} and ${NAME:?text} in the values of a file, as Docker Compose does. $${ is
// a literal ${, and a $ without a brace stays. A value that comes from a variable is a number or a flag where one is
// needed. The problems are the variables that are not set.
func (s *Source) Interpolate(vars Variables) []*Problem {
	i := interpolation{src: s, vars: vars, seen: map[*Node]bool{}}
	i.replaceIn(s.Root)
	return i.problems
}

type interpolation struct {
	src      *Source
	vars     Variables
	seen     map[*Node]bool // aliases share nodes
	problems []*Problem
}

func (i *interpolation) replaceIn(n *Node) {
	if n == nil || i.seen[n] {
		return
	}
	i.seen[n] = true
	for _, e := range n.Entries {
		i.replaceIn(e.Value)
	}
	for _, item := range n.Items {
		i.replaceIn(item)
	}
	if n.Kind != Text || !strings.Contains(n.Text, "${") {
		return
	}
	form := onlyBraces(n.Text)
	if i.refuseUnset(n, form) {
		return
	}
	text, err := template.SubstituteWithOptions(form, template.Mapping(i.vars), template.WithoutLogging)
	if err != nil {
		i.addError(n, err)
		return
	}
	if n.varies = text != n.Text; n.varies {
		n.setVarying(text)
	}
}

// refuseUnset adds a problem for each variable of a text that is not set and has no default.
func (i *interpolation) refuseUnset(n *Node, form string) (refused bool) {
	named := template.ExtractVariables(map[string]any{"": form}, nil)
	for _, name := range slices.Sorted(maps.Keys(named)) {
		v := named[name]
		if name == "" || v.Required || v.DefaultValue != "" || v.PresenceValue != "" || strings.Contains(form, "${"+name+"-") ||
			strings.Contains(form, "${"+name+":-") {
			continue
		}
		if _, ok := i.vars(name); !ok {
			refused, n.unset = true, true
			p := i.src.At(n, "the variable %s is not set, or is empty", name)
			p.Unset = name
			p.Next = fmt.Sprintf("set it: --set %s=…, an environment variable or a file of --env-file; or write ${%s:-default}, "+
				"and $${ for a literal ${", name, name)
			i.problems = append(i.problems, p)
		}
	}
	return refused
}

func (i *interpolation) addError(n *Node, err error) {
	n.unset = true
	var missing *template.MissingRequiredError
	p := i.src.At(n, "a variable is not written as ${NAME}, ${NAME:-default} or ${NAME:?text}")
	p.Next = "correct it, or write $${ for a literal ${"
	if errors.As(err, &missing) {
		p = i.src.At(n, "the variable %s is not set, or is empty: %s", missing.Variable, missing.Reason)
		p.Unset = missing.Variable
		p.Next = fmt.Sprintf("set it: --set %s=…, an environment variable or a file of --env-file", missing.Variable)
	}
	i.problems = append(i.problems, p)
}

// onlyBraces doubles each $ that begins neither ${ nor $${, so that it is literal for Compose.
func onlyBraces(text string) string {
	var b strings.Builder
	for k := 0; k < len(text); k++ {
		switch {
		case text[k] != '$', strings.HasPrefix(text[k:], "${"):
			b.WriteByte(text[k])
		case strings.HasPrefix(text[k:], "$${"):
			b.WriteString("$$")
			k++
		default:
			b.WriteString("$$")
		}
	}
	return b.String()
}

// setVarying sets the text of a value that comes from a variable. Its number is set too, if it is one.
func (n *Node) setVarying(text string) {
	n.Text = text
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		n.number = i
	} else if f, err := strconv.ParseFloat(text, 64); err == nil {
		n.number = f
	}
}

// IsUnset reports whether the value names a variable that is not set. That is one problem already.
func (n *Node) IsUnset() bool { return n.unset }

// IsNumber reports whether the node is a number, or the text of a variable that is one.
func (n *Node) IsNumber() bool { return n.Kind == Number || n.varies && n.number != nil }

// For returns the node as a value of an SDK type: a variable is a number where the type is one.
func (n *Node) For(t reflect.Type) *Node {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Int32, reflect.Int64, reflect.Float64:
		if n.varies && n.IsNumber() {
			number := *n
			number.Kind = Number
			return &number
		}
	}
	return n
}

// IsFlag reports whether the node is true or false, or the text of a variable that is one of them.
func (n *Node) IsFlag() bool {
	return n.Kind == Bool || n.varies && (n.Text == "true" || n.Text == "false")
}
