package definition

import (
	"encoding/json"
	"reflect"

	ecsdoc "github.com/aws/aws-sdk-go-v2/service/ecs/document"
)

// JSON returns the definition as RegisterTaskDefinition's request, which [DecodeTask] reads. It
// contains the values of environments.
func (t *Task) JSON() ([]byte, error) {
	return json.Marshal(jsonValue(reflect.ValueOf(t.Input)))
}

// SetCluster sets the cluster of a definition that names none.
func (s *Service) SetCluster(name string) {
	s.Input.Cluster = &name
	s.Given["cluster"] = true
}

// JSON returns the definition as CreateService's request. [DecodeService] reads it with the same
// members given.
func (s *Service) JSON() ([]byte, error) {
	out := map[string]any{}
	v := reflect.ValueOf(s.Input).Elem()
	for _, m := range membersOf(v.Type()) {
		if !s.Given[m.name] {
			continue
		}
		if w := jsonValue(v.Field(m.index)); w != nil {
			out[m.name] = w
		}
	}
	return json.Marshal(out)
}

// jsonValue returns an SDK value in types that encoding/json writes as AWS does. It omits nil
// values and empty enums.
func jsonValue(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return jsonValue(v.Elem())
	case reflect.Struct:
		out := map[string]any{}
		for _, m := range membersOf(v.Type()) {
			if w := jsonValue(v.Field(m.index)); w != nil {
				out[m.name] = w
			}
		}
		return out
	case reflect.Slice:
		return jsonList(v)
	case reflect.Interface:
		return jsonInterface(v)
	case reflect.Map:
		if v.IsNil() {
			return nil
		}
	case reflect.String:
		if v.String() == "" && len(enumValues(v.Type())) > 0 {
			return nil
		}
	}
	return v.Interface()
}

func jsonList(v reflect.Value) any {
	if v.IsNil() {
		return nil
	}
	out := []any{}
	for i := range v.Len() {
		out = append(out, jsonValue(v.Index(i)))
	}
	return out
}

func jsonInterface(v reflect.Value) any {
	if v.IsNil() {
		return nil
	}
	if doc, ok := v.Interface().(ecsdoc.Interface); ok {
		return openJSON{doc}
	}
	for name, t := range unionMembers(v.Type()) {
		if v.Elem().Type() == reflect.PointerTo(t) {
			return map[string]any{name: jsonValue(v.Elem().Elem().FieldByName("Value"))}
		}
	}
	return nil
}

// openJSON is open JSON content for encoding/json.
type openJSON struct{ doc ecsdoc.Interface }

// MarshalJSON returns the content.
func (o openJSON) MarshalJSON() ([]byte, error) { return o.doc.MarshalSmithyDocument() }
