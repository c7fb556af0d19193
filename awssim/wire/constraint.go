package wire

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// Constraint is what a service's model demands of a member, besides the values of its enumeration.
type Constraint struct {
	Required bool
	Length   []int  // of a text, a list or a map: the least, and the most if there is one
	Value    []int  // of a number: the least, and the most if there is one
	Pattern  string // of a whole text
}

// preparedConstraint is a Constraint whose pattern is compiled.
type preparedConstraint struct {
	Constraint
	pattern *regexp.Regexp // nil: none
}

func prepareConstraint(c Constraint) *preparedConstraint {
	p := &preparedConstraint{Constraint: c}
	if c.Pattern != "" {
		p.pattern = regexp.MustCompile(`^(?:` + c.Pattern + `)$`)
	}
	return p
}

// checkModel rejects an input that violates constraints of the model. Like AWS, it names all of them.
func (r *preparedAPI) checkModel(in *shape, v reflect.Value) *world.Refusal {
	if r.Violation == "" {
		return nil
	}
	if text := r.enumWords(in, v); text != "" {
		return &world.Refusal{Code: r.Violation, Message: text}
	}
	all := in.violations(v, "")
	switch len(all) {
	case 0:
		return nil
	case 1:
		return &world.Refusal{Code: r.Violation, Message: "1 validation error detected: " + all[0]}
	}
	return &world.Refusal{Code: r.Violation,
		Message: strconv.Itoa(len(all)) + " validation errors detected: " + strings.Join(all, "; ")}
}

// violations returns AWS's sentence about each value in v that violates a constraint.
func (s *shape) violations(v reflect.Value, path string) []string {
	switch s.kind {
	case kindString:
		if x := v.String(); s.values != nil && x != "" && !slices.Contains(s.values, x) {
			return []string{violation(quoted(x), path, s.enumConstraint())}
		}
	case kindPointer:
		if !v.IsNil() {
			return s.elem.violations(v.Elem(), path)
		}
	case kindList:
		return s.listViolations(v, path)
	case kindStruct:
		var all []string
		for i := range s.fields {
			f := &s.fields[i]
			x, at := v.Field(f.index), lowerPath(path, f.in)
			all = append(all, f.constraint.violations(f.shape, x, at)...)
			all = append(all, f.shape.violations(x, at)...)
		}
		return all
	}
	return nil
}

// listViolations is violations for a list. AWS names a list of values as a whole, and in a list of
// structures the path of the field.
func (s *shape) listViolations(v reflect.Value, path string) []string {
	if s.elem.kind == kindString && s.elem.values == nil {
		return nil
	}
	var all []string
	for i := range v.Len() {
		texts := s.elem.violations(v.Index(i), path+"."+strconv.Itoa(i+1)+".member")
		if len(texts) > 0 && s.elem.kind == kindString {
			return []string{violation(quoted(joinValues(v)), path, "Member must satisfy constraint: ["+
				s.elem.enumConstraint()+"]")}
		}
		all = append(all, texts...)
	}
	return all
}

// violations returns AWS's sentences about a member's value v.
func (c *preparedConstraint) violations(s *shape, v reflect.Value, path string) []string {
	if c == nil {
		return nil
	}
	if s.isAbsent(v) {
		if c.Required {
			return []string{violation("null ", path, "Member must not be null")}
		}
		return nil
	}
	for s.kind == kindPointer {
		s, v = s.elem, v.Elem()
	}
	shown, all := shownValue(s, v), []string(nil)
	add := func(demand string) { all = append(all, violation(shown, path, demand)) }
	checkRange(c.Length, lengthOf(s, v), "length", add)
	checkRange(c.Value, numberOf(s, v), "value", add)
	if c.pattern != nil && !c.pattern.MatchString(v.String()) {
		add("Member must satisfy regular expression pattern: " + c.Pattern)
	}
	return all
}

// checkRange adds the demand of a range that n violates.
func checkRange(limits []int, n int64, what string, add func(string)) {
	switch {
	case len(limits) > 0 && n < int64(limits[0]):
		add(fmt.Sprintf("Member must have %s greater than or equal to %d", what, limits[0]))
	case len(limits) > 1 && n > int64(limits[1]):
		add(fmt.Sprintf("Member must have %s less than or equal to %d", what, limits[1]))
	}
}

func lengthOf(s *shape, v reflect.Value) int64 {
	switch s.kind {
	case kindString:
		return int64(utf8.RuneCountInString(v.String()))
	case kindList, kindMap:
		return int64(v.Len())
	}
	return 0
}

func numberOf(s *shape, v reflect.Value) int64 {
	if s.kind == kindInt {
		return v.Int()
	}
	return 0
}

// shownValue returns a value as AWS shows it before its path. It does not show structures.
func shownValue(s *shape, v reflect.Value) string {
	switch {
	case s.kind == kindString:
		return quoted(v.String())
	case s.kind == kindInt:
		return quoted(strconv.FormatInt(v.Int(), 10))
	case s.kind == kindList && s.elem.kind == kindString:
		return quoted(joinValues(v))
	}
	return ""
}

func quoted(value string) string { return "'" + value + "' " }

func violation(shown, path, demand string) string {
	return "Value " + shown + "at '" + path + "' failed to satisfy constraint: " + demand
}
