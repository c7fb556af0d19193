package wire

import (
	"reflect"
	"strings"
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

// enumWords returns the service's own sentence about the first such value, or "".
func (r *preparedAPI) enumWords(in *shape, v reflect.Value) string {
	for i := range in.fields {
		f := &in.fields[i]
		words, ok := r.EnumWords[lowerFirst(f.in)]
		if x := v.Field(f.index); ok && len(f.shape.violations(x, "")) > 0 {
			return strings.ReplaceAll(words, "{value}", x.String())
		}
	}
	return ""
}

func (s *shape) enumConstraint() string {
	return "Member must satisfy enum value set: [" + strings.Join(s.values, ", ") + "]"
}

// joinValues returns a list of texts as AWS shows it.
func joinValues(v reflect.Value) string {
	words := make([]string, v.Len())
	for i := range words {
		words[i] = v.Index(i).String()
	}
	return "[" + strings.Join(words, ", ") + "]"
}

func lowerPath(path, name string) string {
	name = lowerFirst(name)
	if path == "" {
		return name
	}
	return path + "." + name
}
