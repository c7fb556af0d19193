// Package jsonschema has the parts of JSON Schema (draft 2020-12) of which the schema of application files is made.
// As in YAML, a value may be null, unless [NonNull] forbids it.
package jsonschema

// Schema is a JSON Schema.
type Schema = map[string]any

// Require is the schema of an object with these keys.
func Require(keys ...string) Schema { return Schema{"required": keys} }

// Nullable lets a schema accept null too.
func Nullable(s Schema) Schema {
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

// NonNull lets a schema reject null.
func NonNull(s Schema) Schema {
	if len(s) == 0 {
		return s
	}
	return Schema{"allOf": []any{s, Schema{"not": Schema{"type": "null"}}}}
}

// Filled is the schema of an object in which these keys have values.
func Filled(keys ...string) Schema {
	properties := Schema{}
	for _, key := range keys {
		properties[key] = Schema{"not": Schema{"anyOf": []any{Schema{"type": "null"},
			Schema{"type": "array", "maxItems": 0}}}}
	}
	return Schema{"required": keys, "properties": properties}
}

// Text is a text with a pattern, if that is not empty.
func Text(pattern string) Schema {
	s := Schema{"type": []string{"string", "null"}}
	if pattern != "" {
		s["pattern"] = pattern
	}
	return s
}

// Texts is a map of texts.
func Texts() Schema {
	return Schema{"type": []string{"object", "null"}, "additionalProperties": Schema{"type": "string"}}
}

// List is a list of items that are not null.
func List(items Schema) Schema {
	return Schema{"type": []string{"array", "null"}, "items": NonNull(items)}
}

// Integer is a whole number in a range.
func Integer(low, high int64) Schema {
	return Schema{"type": []string{"integer", "null"}, "minimum": low, "maximum": high}
}

// Percent is a whole percentage in a range, written 10 or "10%". The lower end is 0 or 1.
func Percent(low, high int64) Schema {
	lead := "[0-9]?[0-9]"
	if low == 1 {
		lead = "[1-9][0-9]|0?[1-9]"
	}
	return Schema{"anyOf": []any{
		Schema{"type": "integer", "minimum": low, "maximum": high},
		Schema{"type": "string", "pattern": "^0*(" + lead + "|100)%?$"},
		Schema{"type": "null"},
	}}
}

// OrVariable lets a schema accept a text with a variable too: ${NAME}, but not the literal $${.
func OrVariable(s Schema) Schema {
	return Schema{"anyOf": []any{s, Schema{"type": "string", "pattern": `(^|[^$])\$\{`}}}
}

// durationParts is a duration of Go without a sign.
const durationParts = `([0-9]+(\.[0-9]*)?(ns|us|µs|μs|ms|s|m|h)|\.[0-9]+(ns|us|µs|μs|ms|s|m|h))+`

// Duration is a duration of Go above zero.
func Duration() Schema {
	return Schema{"type": []string{"string", "null"}, "allOf": []any{
		Schema{"pattern": `^\+?` + durationParts + `$`},
		Schema{"pattern": "[1-9]"},
	}}
}

// Delay is a duration of Go of zero or more.
func Delay() Schema { return Text(`^\+?(0|` + durationParts + `)$`) }

// Fraction is a share above 0 and below 1, written "1%" or 0.01.
func Fraction() Schema {
	return Schema{"anyOf": []any{
		Schema{"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
		Schema{"type": "string", "pattern": `^[0-9]*\.?[0-9]+ *%$`},
		Schema{"type": "null"},
	}}
}
