package wire

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// valuesOf returns the values of an enumeration of the SDK, or nil for a plain string.
func valuesOf(t reflect.Type) []string {
	if t.PkgPath() == "" {
		return nil
	}
	m := reflect.Zero(t).MethodByName("Values")
	if !m.IsValid() || m.Type().NumIn() != 0 || m.Type().NumOut() != 1 || m.Type().Out(0) != reflect.SliceOf(t) {
		return nil
	}
	list := m.Call(nil)[0]
	values := make([]string, list.Len())
	for i := range values {
		values[i] = list.Index(i).String()
	}
	return values
}

// checkEnums rejects the first value of an input that its enumeration does not have.
func (r *preparedAPI) checkEnums(in *shape, v reflect.Value) *world.Refusal {
	if r.BadEnum == "" {
		return nil
	}
	if text := r.enumWords(in, v); text != "" {
		return &world.Refusal{Code: r.BadEnum, Message: text}
	}
	if text := in.enumViolation(v, ""); text != "" {
		return &world.Refusal{Code: r.BadEnum, Message: "1 validation error detected: " + text}
	}
	return nil
}

// enumWords returns the service's own sentence about the first such value, or "".
func (r *preparedAPI) enumWords(in *shape, v reflect.Value) string {
	for i := range in.fields {
		f := &in.fields[i]
		words, ok := r.EnumWords[lowerFirst(f.in)]
		if x := v.Field(f.index); ok && f.shape.enumViolation(x, "") != "" {
			return strings.ReplaceAll(words, "{value}", x.String())
		}
	}
	return ""
}

// enumViolation returns AWS's sentence about the first such value in v, or "".
func (s *shape) enumViolation(v reflect.Value, path string) string {
	switch s.kind {
	case kindString:
		if x := v.String(); s.values != nil && x != "" && !slices.Contains(s.values, x) {
			return "Value '" + x + "' at '" + path + "' failed to satisfy constraint: " + s.enumConstraint()
		}
	case kindPointer:
		if !v.IsNil() {
			return s.elem.enumViolation(v.Elem(), path)
		}
	case kindList:
		return s.listViolation(v, path)
	case kindStruct:
		for i := range s.fields {
			f := &s.fields[i]
			if text := f.shape.enumViolation(v.Field(f.index), lowerPath(path, f.in)); text != "" {
				return text
			}
		}
	}
	return ""
}

// listViolation is enumViolation for a list. AWS names a list of values as a whole, and in a list
// of structures the path of the field.
func (s *shape) listViolation(v reflect.Value, path string) string {
	if s.elem.kind == kindString && s.elem.values == nil {
		return ""
	}
	for i := range v.Len() {
		text := s.elem.enumViolation(v.Index(i), path+"."+strconv.Itoa(i+1)+".member")
		if text == "" {
			continue
		}
		if s.elem.kind == kindString {
			return "Value '[" + joinValues(v) + "]' at '" + path +
				"' failed to satisfy constraint: Member must satisfy constraint: [" + s.elem.enumConstraint() + "]"
		}
		return text
	}
	return ""
}

func (s *shape) enumConstraint() string {
	return "Member must satisfy enum value set: [" + strings.Join(s.values, ", ") + "]"
}

func joinValues(v reflect.Value) string {
	words := make([]string, v.Len())
	for i := range words {
		words[i] = v.Index(i).String()
	}
	return strings.Join(words, ", ")
}

func lowerPath(path, name string) string {
	name = lowerFirst(name)
	if path == "" {
		return name
	}
	return path + "." + name
}
