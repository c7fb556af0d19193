package definition

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"

	ecsdoc "github.com/aws/aws-sdk-go-v2/service/ecs/document"
)

// valueTree returns an SDK value as plain maps (map[string]any by AWS's JSON names), lists ([]any)
// and scalars as text. It omits nil, empty values, and the zero value of a member that cannot be
// nil: AWS does not distinguish them either.
func valueTree(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		if s := scalarText(v.Elem()); s != nil {
			return *s
		}
		return valueTree(v.Elem())
	case reflect.Interface:
		return openTree(v)
	case reflect.Struct:
		return structTree(v)
	case reflect.Slice:
		return listTree(v)
	case reflect.Map:
		out := map[string]any{}
		for _, k := range v.MapKeys() {
			out[k.String()] = v.MapIndex(k).String()
		}
		return pruneMap(out)
	}
	if v.IsZero() {
		return nil
	}
	return *scalarText(v)
}

// scalarText returns a scalar as text, or nil.
func scalarText(v reflect.Value) *string {
	var s string
	switch v.Kind() {
	case reflect.String:
		s = v.String()
	case reflect.Bool:
		s = strconv.FormatBool(v.Bool())
	case reflect.Int32, reflect.Int64:
		s = strconv.FormatInt(v.Int(), 10)
	case reflect.Float64:
		s = strconv.FormatFloat(v.Float(), 'g', -1, 64)
	default:
		return nil
	}
	return &s
}

func structTree(v reflect.Value) any {
	out := map[string]any{}
	for _, m := range membersOf(v.Type()) {
		if value := valueTree(v.Field(m.index)); value != nil {
			out[m.name] = value
		}
	}
	return pruneMap(out)
}

func listTree(v reflect.Value) any {
	var out []any
	for i := range v.Len() {
		if item := v.Index(i); item.Kind() == reflect.String {
			out = append(out, item.String())
		} else if t := valueTree(item); t != nil {
			out = append(out, t)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// openTree returns a union as a map of its one member, or open JSON content as its canonical text.
func openTree(v reflect.Value) any {
	if v.IsNil() {
		return nil
	}
	if doc, ok := v.Interface().(ecsdoc.Interface); ok {
		return documentText(doc)
	}
	for name, t := range unionMembers(v.Type()) {
		if v.Elem().Type() == reflect.PointerTo(t) {
			return pruneMap(map[string]any{name: valueTree(v.Elem().Elem().FieldByName("Value"))})
		}
	}
	return nil
}

func documentText(doc ecsdoc.Interface) any {
	raw, err := doc.MarshalSmithyDocument()
	if err != nil {
		return nil
	}
	var content any
	if json.Unmarshal(raw, &content) != nil {
		return string(raw)
	}
	canonical, err := json.Marshal(content)
	if err != nil {
		return string(raw)
	}
	return string(canonical)
}

// pruneMap removes the nil values of a map and returns it, or nil if it is empty.
func pruneMap(m map[string]any) any {
	maps.DeleteFunc(m, func(_ string, v any) bool { return v == nil })
	if len(m) == 0 {
		return nil
	}
	return m
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
