package appfile

import (
	"encoding/json"
	"strings"
)

// Schema returns the JSON Schema (draft 2020-12) of application files: both envelopes of PipeCD,
// sluice.yaml, and ecspresso's configuration. It is made from the tables that [Load] uses. It does not
// express rules that need arithmetic or another file. Such rules are: shares sum to 100, a duration lies
// between two others, there are enough approvers, definitions exist.
func Schema() []byte {
	defs := map[string]any{
		"pipecdV0":  envelopeSchema("ECSApp", specSchema(PipeCDv0)),
		"pipecdV1":  envelopeSchema("Application", specSchema(PipeCDv1)),
		"sluice":    specSchema(Sluice),
		"ecspresso": specSchema(Ecspresso),
	}
	text, err := json.MarshalIndent(map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title":   "An application of sluice",
		"description": "PipeCD v0 (kind: ECSApp), PipeCD v1 (kind: Application), ecspresso (task_definition) or " +
			"sluice.yaml.",
		"type": "object",
		"if":   map[string]any{"anyOf": []any{requireKeys("kind"), requireKeys("apiVersion")}},
		"then": map[string]any{
			"if":   map[string]any{"properties": map[string]any{"kind": map[string]any{"const": "Application"}}},
			"then": map[string]any{"$ref": "#/$defs/pipecdV1"},
			"else": map[string]any{"$ref": "#/$defs/pipecdV0"},
		},
		"else": map[string]any{
			"if":   map[string]any{"anyOf": []any{requireKeys("task_definition"), requireKeys("service_definition")}},
			"then": map[string]any{"$ref": "#/$defs/ecspresso"},
			"else": map[string]any{"$ref": "#/$defs/sluice"},
		},
		"$defs": defs,
	}, "", "  ")
	if err != nil {
		panic(err) // maps and text only
	}
	return append(text, '\n')
}

func requireKeys(keys ...string) map[string]any {
	return map[string]any{"required": keys}
}

func envelopeSchema(kind string, spec any) map[string]any {
	return map[string]any{
		"type": "object",
		"properties": map[string]any{
			"apiVersion": map[string]any{"const": apiVersion},
			"kind":       map[string]any{"const": kind},
			"spec":       spec,
		},
		"required":             []string{"apiVersion", "kind", "spec"},
		"additionalProperties": false,
	}
}

func specSchema(f Format) map[string]any {
	return objectSchema(specShape(f), f)
}

// schemaOf returns the schema of a value that may be null, as in YAML.
func schemaOf(s shape, f Format) map[string]any {
	switch s.kind {
	case object:
		return allowNull(objectSchema(s, f))
	case list:
		return map[string]any{"type": []string{"array", "null"}, "items": forbidNull(schemaOf(*s.of, f))}
	case labels:
		return map[string]any{"type": []string{"object", "null"},
			"additionalProperties": map[string]any{"type": "string"}}
	case stages:
		return map[string]any{"type": []string{"array", "null"}, "items": stageSchema(f)}
	case plugins:
		return pluginsSchema(f)
	case choice:
		return allowNull(map[string]any{"type": "string", "enum": s.words})
	case text:
		if s.min > 0 {
			return map[string]any{"type": []string{"string", "null"}, "minLength": s.min}
		}
		return map[string]any{"type": []string{"string", "null"}}
	case word:
		return map[string]any{"type": []string{"string", "null"}, "pattern": "^[A-Za-z0-9_-]{1,40}$"}
	case request:
		return requestSchema()
	case flag:
		return map[string]any{"type": []string{"boolean", "null"}}
	case integer, percent, span, delay:
		return measureSchema(s)
	case number, ratio, fraction, signal, webAddress, secretPlace:
		return gateValueSchema(s)
	}
	return map[string]any{}
}

// allowNull lets a schema accept null too.
func allowNull(s map[string]any) map[string]any {
	s["type"] = []string{s["type"].(string), "null"}
	if words, ok := s["enum"].([]string); ok {
		all := make([]any, 0, len(words)+1)
		for _, w := range words {
			all = append(all, w)
		}
		s["enum"] = append(all, nil)
	}
	return s
}

// forbidNull lets a schema reject null.
func forbidNull(s map[string]any) map[string]any {
	if len(s) == 0 {
		return s
	}
	return map[string]any{"allOf": []any{s, map[string]any{"not": map[string]any{"type": "null"}}}}
}

func objectSchema(s shape, f Format) map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, k := range s.keys {
		if k.treatment == Refused {
			continue
		}
		property := schemaOf(k.shape, f)
		if k.needed || s.one {
			property = forbidNull(property)
		}
		if k.needed {
			required = append(required, k.name)
		}
		property["description"] = k.sentence
		properties[k.name] = property
	}
	out := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		out["required"] = required
	}
	if s.one {
		out["minProperties"], out["maxProperties"] = 1, 1
	}
	var sets []any
	for _, keys := range s.complete {
		sets = append(sets, hasAllFilled(keys))
	}
	if len(sets) > 0 {
		out["anyOf"] = sets
	}
	if len(s.single) == 2 {
		out["not"] = map[string]any{"type": "object", "required": s.single, "properties": map[string]any{
			s.single[0]: map[string]any{"type": "string"}, s.single[1]: map[string]any{"type": "string"},
		}}
	}
	return out
}

// measureSchema returns the schema of numbers, shares and durations.
func measureSchema(s shape) map[string]any {
	switch s.kind {
	case integer:
		return map[string]any{"type": []string{"integer", "null"}, "minimum": s.min, "maximum": s.max}
	case percent:
		lead := "[0-9]?[0-9]"
		if s.min == 1 {
			lead = "[1-9][0-9]|0?[1-9]"
		}
		return map[string]any{"anyOf": []any{
			map[string]any{"type": "integer", "minimum": s.min, "maximum": s.max},
			map[string]any{"type": "string", "pattern": "^0*(" + lead + "|100)%?$"},
			map[string]any{"type": "null"},
		}}
	}
	const parts = `([0-9]+(\.[0-9]*)?(ns|us|µs|μs|ms|s|m|h)|\.[0-9]+(ns|us|µs|μs|ms|s|m|h))+`
	if s.kind == delay && s.min == 0 {
		return map[string]any{"type": []string{"string", "null"}, "pattern": `^\+?(0|` + parts + `)$`}
	}
	return map[string]any{"type": []string{"string", "null"}, "allOf": []any{
		map[string]any{"pattern": `^\+?` + parts + `$`},
		map[string]any{"pattern": "[1-9]"},
	}}
}

// stageSchema returns the schema of one stage: its entry, and its options by its name.
func stageSchema(f Format) map[string]any {
	entry := objectSchema(entryShape(f), f)
	var names []string
	var each []any
	for _, st := range stageKinds(f) {
		if st.treatment != Honoured {
			continue
		}
		names = append(names, st.name)
		each = append(each, map[string]any{
			"if":   map[string]any{"properties": map[string]any{"name": map[string]any{"const": st.name}}},
			"then": optionsSchema(st, f),
		})
	}
	entry["properties"].(map[string]any)["name"] = map[string]any{"enum": names,
		"description": strings.Join(names, ", ")}
	entry["allOf"] = each
	return entry
}

// optionsSchema returns the schema of the options of one stage kind.
func optionsSchema(st stageKind, f Format) map[string]any {
	with := objectSchema(st.withShape(), f)
	out := map[string]any{"properties": map[string]any{"with": allowNull(with)}}
	if st.name == StageTrafficRouting {
		with["anyOf"] = []any{hasFilled("primary"), hasFilled("canary")}
	}
	if st.needsWith() || st.name == StageTrafficRouting {
		out["required"] = []string{"with"}
		with["type"] = "object"
	}
	return out
}

// hasAllFilled is the schema of an object in which all keys have values.
func hasAllFilled(keys []string) map[string]any {
	properties := map[string]any{}
	for _, key := range keys {
		properties[key] = map[string]any{"not": map[string]any{"anyOf": []any{map[string]any{"type": "null"},
			map[string]any{"type": "array", "maxItems": 0}}}}
	}
	return map[string]any{"required": keys, "properties": properties}
}

func hasFilled(key string) map[string]any {
	return map[string]any{"required": []string{key}, "properties": map[string]any{
		key: map[string]any{"not": map[string]any{"type": "null"}},
	}}
}

// pluginsSchema returns the schema of PipeCD v1's map of plugins. The plugin is the entry named
// ecs, or the only entry.
func pluginsSchema(f Format) map[string]any {
	plugin := allowNull(objectSchema(pluginShape(), f))
	return map[string]any{
		"type": "object",
		"if":   requireKeys("ecs"),
		"then": map[string]any{"properties": map[string]any{"ecs": plugin}},
		"else": map[string]any{"minProperties": 1, "maxProperties": 1, "additionalProperties": plugin},
	}
}
