// Package eventschema makes the JSON Schema of events (draft 2020-12) from their types.
package eventschema

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
)

type object = map[string]any

// Schema returns the JSON Schema of one line of `--output json`: the first one, which names the schema, or an event. A
// kind that the schema does not know is valid, because newer versions emit more kinds.
func Schema() []byte {
	kinds, choices := object{}, []any{}
	for _, e := range sluice.Events() {
		kind := sluice.Seal("", "", e).Kind
		kinds[kind] = schemaOf(reflect.TypeOf(e))
		choices = append(choices, object{
			"if":   object{"properties": object{"kind": object{"const": kind}}, "required": []string{"kind"}},
			"then": object{"properties": object{"data": object{"$ref": "#/$defs/" + kind}}}})
	}
	envelope := schemaOf(reflect.TypeFor[sluice.Envelope]())
	envelope["allOf"] = choices
	kinds["envelope"] = envelope
	schema := object{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": sluice.EventSchema, "$defs": kinds,
		"properties": object{"schema": object{"const": sluice.EventSchema}}, "required": []string{"schema"},
		"anyOf": []any{object{"type": "object", "maxProperties": 1}, object{"$ref": "#/$defs/envelope"}}}
	text, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		panic(err) // texts, numbers and lists only
	}
	return append(text, '\n')
}

// schemaOf is the schema of what encoding/json makes of a type.
func schemaOf(t reflect.Type) object {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[sluice.Duration]():
		return object{"type": "object", "properties": object{"text": object{"type": "string"},
			"seconds": object{"type": "number"}}, "required": []string{"text", "seconds"}, "additionalProperties": false}
	case t == reflect.TypeFor[json.RawMessage](), t == reflect.TypeFor[json.Marshaler]():
		return object{}
	case t.Kind() != reflect.Struct && t.Implements(reflect.TypeFor[json.Marshaler]()):
		return object{}
	}
	switch t.Kind() {
	case reflect.Struct:
		return structSchema(t)
	case reflect.Pointer:
		return object{"anyOf": []any{schemaOf(t.Elem()), object{"type": "null"}}}
	case reflect.Slice:
		return object{"type": []string{"array", "null"}, "items": schemaOf(t.Elem())}
	case reflect.Map:
		return object{"type": []string{"object", "null"}, "additionalProperties": schemaOf(t.Elem())}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Float32, reflect.Float64:
		return object{"type": "number"}
	}
	return object{"type": "integer"}
}

// structSchema lists the fields of a struct, and those of the structs that it embeds. Other fields are not allowed: they
// would be a misspelt name.
func structSchema(t reflect.Type) object {
	if t.Implements(reflect.TypeFor[json.Marshaler]()) {
		return object{"type": "object"}
	}
	properties, required := object{}, []string{}
	addFields(t, properties, &required)
	return object{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

func addFields(t reflect.Type, properties object, required *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			addFields(f.Type, properties, required)
			continue
		case name == "-" || !f.IsExported():
			continue
		case name == "":
			name = f.Name
		}
		properties[name] = schemaOf(f.Type)
		if !strings.Contains(options, "omit") {
			*required = append(*required, name)
		}
	}
}
