package plan

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/sluice-ecs/sluice/internal/definition"
)

// A plan carries its definitions as JSON in the shape of AWS's requests, so that
// the reader of files reads them back. What the file left out is left out here.

func encodeTask(t *definition.Task) (json.RawMessage, error) {
	v, err := members(reflect.ValueOf(*t.Input), nil)
	if err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

func encodeService(s *definition.Service) (json.RawMessage, error) {
	v, err := members(reflect.ValueOf(*s.Input), s.Given)
	if err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// DecodeTask reads back the task definition of the plan.
func (p *Plan) DecodeTask() (*definition.Task, error) {
	return definition.DecodeTask("task definition of the plan", p.Task)
}

// DecodeService reads back the service definition of the plan.
func (p *Plan) DecodeService() (*definition.Service, error) {
	return definition.DecodeService("service definition of the plan", p.Definition)
}

// members are the members of an SDK struct that are set. With given, exactly
// those are taken, zero or not.
func members(v reflect.Value, given map[string]bool) (map[string]any, error) {
	out := map[string]any{}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() {
			continue
		}
		name := strings.ToLower(f.Name[:1]) + f.Name[1:]
		if given == nil && v.Field(i).IsZero() || given != nil && !given[name] {
			continue
		}
		x, err := plain(v.Field(i))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out[name] = x
	}
	return out, nil
}

func plain(v reflect.Value) (any, error) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil, nil
		}
		return plain(v.Elem())
	case reflect.Struct:
		return members(v, nil)
	case reflect.Slice:
		out := make([]any, v.Len())
		for i := range out {
			x, err := plain(v.Index(i))
			if err != nil {
				return nil, err
			}
			out[i] = x
		}
		return out, nil
	case reflect.Map:
		out := map[string]any{}
		for _, k := range v.MapKeys() {
			x, err := plain(v.MapIndex(k))
			if err != nil {
				return nil, err
			}
			out[k.String()] = x
		}
		return out, nil
	case reflect.Interface:
		return nil, fmt.Errorf("a member of kind %s cannot be kept in a plan", v.Type())
	}
	return v.Interface(), nil
}
