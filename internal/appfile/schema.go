package appfile

import (
	"encoding/json"
	"strings"

	"github.com/sluice-ecs/sluice/internal/appfile/jsonschema"
)

// Schema returns the JSON Schema (draft 2020-12) of application files: both envelopes of PipeCD,
// sluice.yaml, and ecspresso's configuration. It is made from the tables that [Load] uses. It does not
// express rules that need arithmetic or another file. Such rules are: shares sum to 100, a duration lies
// between two others, there are enough approvers, definitions exist.
func Schema() []byte {
	defs := jsonschema.Schema{
		"pipecdV0":  envelopeSchema("ECSApp", specSchema(PipeCDv0)),
		"pipecdV1":  envelopeSchema("Application", specSchema(PipeCDv1)),
		"sluice":    specSchema(Sluice),
		"ecspresso": specSchema(Ecspresso),
	}
	text, err := json.MarshalIndent(jsonschema.Schema{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title":   "An application of sluice",
		"description": "PipeCD v0 (kind: ECSApp), PipeCD v1 (kind: Application), ecspresso (task_definition) or " +
			"sluice.yaml.",
		"type": "object",
		"if":   jsonschema.Schema{"anyOf": []any{jsonschema.Require("kind"), jsonschema.Require("apiVersion")}},
		"then": jsonschema.Schema{
			"if":   jsonschema.Schema{"properties": jsonschema.Schema{"kind": jsonschema.Schema{"const": "Application"}}},
			"then": jsonschema.Schema{"$ref": "#/$defs/pipecdV1"},
			"else": jsonschema.Schema{"$ref": "#/$defs/pipecdV0"},
		},
		"else": jsonschema.Schema{
			"if": jsonschema.Schema{"anyOf": []any{jsonschema.Require("task_definition"),
				jsonschema.Require("service_definition")}},
			"then": jsonschema.Schema{"$ref": "#/$defs/ecspresso"},
			"else": jsonschema.Schema{"$ref": "#/$defs/sluice"},
		},
		"$defs": defs,
	}, "", "  ")
	if err != nil {
		panic(err) // maps and text only
	}
	return append(text, '\n')
}

func envelopeSchema(kind string, spec any) jsonschema.Schema {
	return jsonschema.Schema{
		"type": "object",
		"properties": jsonschema.Schema{
			"apiVersion": jsonschema.Schema{"const": apiVersion},
			"kind":       jsonschema.Schema{"const": kind},
			"spec":       spec,
		},
		"required":             []string{"apiVersion", "kind", "spec"},
		"additionalProperties": false,
	}
}

func specSchema(f Format) jsonschema.Schema {
	return objectSchema(specShape(f), f)
}

// schemaOf returns the schema of a value that may be null, as in YAML. In a sluice.yaml, a variable may stand for it, or be
// in it, unless it is a map or a list.
func schemaOf(s shape, f Format) jsonschema.Schema {
	literal := literalSchema(s, f)
	switch s.kind {
	case choice, flag, integer, percent, span, delay, number, ratio, fraction, word, signal, webAddress, secretPlace:
		if f == Sluice {
			return jsonschema.OrVariable(literal)
		}
	}
	return literal
}

func literalSchema(s shape, f Format) jsonschema.Schema {
	switch s.kind {
	case object:
		return jsonschema.Nullable(objectSchema(s, f))
	case list:
		return jsonschema.List(schemaOf(*s.of, f))
	case labels:
		return jsonschema.Texts()
	case stages:
		return jsonschema.Schema{"type": []string{"array", "null"}, "items": stageSchema(f)}
	case plugins:
		return pluginsSchema(f)
	case named:
		return jsonschema.Schema{"type": []string{"object", "null"}, "additionalProperties": schemaOf(*s.of, f)}
	case choice:
		return jsonschema.Nullable(jsonschema.Schema{"type": "string", "enum": s.words})
	case request:
		return requestSchema()
	case flag:
		return jsonschema.Schema{"type": []string{"boolean", "null"}}
	case integer, percent, span, delay, number, ratio, fraction:
		return measureSchema(s)
	case text, word, signal, webAddress, secretPlace:
		return textSchema(s)
	}
	return jsonschema.Schema{}
}

// measureSchema returns the schema of a number, a share or a duration.
func measureSchema(s shape) jsonschema.Schema {
	switch s.kind {
	case integer:
		return jsonschema.Integer(s.min, s.max)
	case percent:
		return jsonschema.Percent(s.min, s.max)
	case delay:
		if s.min == 0 {
			return jsonschema.Delay()
		}
	case number:
		return jsonschema.Schema{"type": []string{"number", "null"}}
	case ratio:
		return jsonschema.Schema{"type": []string{"number", "null"}, "minimum": 1, "maximum": 1000}
	case fraction:
		return jsonschema.Fraction()
	}
	return jsonschema.Duration()
}

func textSchema(s shape) jsonschema.Schema {
	switch s.kind {
	case word:
		return jsonschema.Text("^[A-Za-z0-9_-]{1,40}$")
	case signal:
		return jsonschema.Text("^(errors|slower than .+)$")
	case webAddress:
		return jsonschema.Text("^https?://[^/]+")
	case secretPlace:
		return jsonschema.Text("^(env:|ssm:).+$")
	}
	t := jsonschema.Text("")
	if s.min > 0 {
		t["minLength"] = s.min
	}
	return t
}

func objectSchema(s shape, f Format) jsonschema.Schema {
	properties, required := jsonschema.Schema{}, []string{}
	for _, k := range s.keys {
		if k.treatment == Refused {
			continue
		}
		property := schemaOf(k.shape, f)
		if k.needed || s.one {
			property = jsonschema.NonNull(property)
		}
		if k.needed {
			required = append(required, k.name)
		}
		property["description"] = k.sentence
		properties[k.name] = property
	}
	out := jsonschema.Schema{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		out["required"] = required
	}
	if s.one {
		out["minProperties"], out["maxProperties"] = 1, 1
	}
	var sets []any
	for _, keys := range s.complete {
		sets = append(sets, jsonschema.Filled(keys...))
	}
	if len(sets) > 0 {
		out["anyOf"] = sets
	}
	if len(s.single) == 2 {
		out["not"] = jsonschema.Schema{"type": "object", "required": s.single, "properties": jsonschema.Schema{
			s.single[0]: jsonschema.Schema{"type": "string"}, s.single[1]: jsonschema.Schema{"type": "string"},
		}}
	}
	return out
}

// stageSchema returns the schema of one stage: its entry, and its options by its name.
func stageSchema(f Format) jsonschema.Schema {
	entry := objectSchema(entryShape(f), f)
	var names []string
	var each []any
	for _, st := range stageKinds(f) {
		if st.treatment != Honoured {
			continue
		}
		names = append(names, st.name)
		each = append(each, jsonschema.Schema{
			"if":   jsonschema.Schema{"properties": jsonschema.Schema{"name": jsonschema.Schema{"const": st.name}}},
			"then": optionsSchema(st, f),
		})
	}
	name := jsonschema.Schema{"enum": names}
	if f == Sluice {
		name = jsonschema.OrVariable(name)
	}
	name["description"] = strings.Join(names, ", ")
	entry["properties"].(jsonschema.Schema)["name"] = name
	entry["allOf"] = each
	return entry
}

// optionsSchema returns the schema of the options of one stage kind.
func optionsSchema(st stageKind, f Format) jsonschema.Schema {
	with := objectSchema(st.withShape(), f)
	out := jsonschema.Schema{"properties": jsonschema.Schema{"with": jsonschema.Nullable(with)}}
	if st.name == StageTrafficRouting {
		with["anyOf"] = []any{jsonschema.Filled("primary"), jsonschema.Filled("canary")}
	}
	if st.needsWith() || st.name == StageTrafficRouting {
		out["required"] = []string{"with"}
		with["type"] = "object"
	}
	return out
}

// pluginsSchema returns the schema of PipeCD v1's map of plugins. The plugin is the entry named
// ecs, or the only entry, which has not the name of another plugin.
func pluginsSchema(f Format) jsonschema.Schema {
	plugin := jsonschema.Nullable(objectSchema(pluginShape(), f))
	return jsonschema.Schema{
		"type": "object",
		"if":   jsonschema.Require("ecs"),
		"then": jsonschema.Schema{"properties": jsonschema.Schema{"ecs": plugin}},
		"else": jsonschema.Schema{"minProperties": 1, "maxProperties": 1, "additionalProperties": plugin,
			"propertyNames": jsonschema.Schema{"not": jsonschema.Schema{"enum": otherPlugins()}}},
	}
}
