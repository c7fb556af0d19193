package pulumi

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/sluice-ecs/sluice"
)

// The engine sends a secret as an object: markKey has secretMark, and valueKey has the value.
const (
	markKey    = "4dabf18193072939515e22adb298388d"
	secretMark = "1b47061264138c4ac30d75fd1eb44270"
	valueKey   = "value"
)

const (
	// redacted replaces a secret in texts. It is Pulumi's own word.
	redacted = "[secret]"
	// minSecret is the length of the shortest text that is replaced. Shorter ones are parts of other words.
	minSecret = 3
)

// inputs are the inputs of a resource. The outputs repeat them as they were sent, with the marks of secrets.
type inputs struct {
	sent  *structpb.Struct
	plain *structpb.Struct  // without the marks
	hide  *strings.Replacer // replaces the secrets in a text
}

func newInputs(sent *structpb.Struct) inputs {
	plain := plainStruct(sent)
	return inputs{sent: sent, plain: plain, hide: newReplacer(secretTexts(structpb.NewStructValue(sent), false))}
}

// secretOf returns the value of a secret.
func secretOf(s *structpb.Struct) (value *structpb.Value, ok bool) {
	if s.GetFields()[markKey].GetStringValue() != secretMark {
		return nil, false
	}
	return s.GetFields()[valueKey], true
}

// plainValue returns a value without the marks of the secrets in it.
func plainValue(v *structpb.Value) *structpb.Value {
	switch kind := v.GetKind().(type) {
	case *structpb.Value_StructValue:
		if secret, ok := secretOf(kind.StructValue); ok {
			return plainValue(secret)
		}
		return structpb.NewStructValue(plainStruct(kind.StructValue))
	case *structpb.Value_ListValue:
		list := &structpb.ListValue{}
		for _, one := range kind.ListValue.GetValues() {
			list.Values = append(list.Values, plainValue(one))
		}
		return structpb.NewListValue(list)
	}
	return v
}

func plainStruct(s *structpb.Struct) *structpb.Struct {
	out := &structpb.Struct{Fields: make(map[string]*structpb.Value, len(s.GetFields()))}
	for name, v := range s.GetFields() {
		out.Fields[name] = plainValue(v)
	}
	return out
}

// secretTexts returns the texts in the secrets of a value. If isSecret is set, the value itself is one.
func secretTexts(v *structpb.Value, isSecret bool) (texts []string) {
	switch kind := v.GetKind().(type) {
	case *structpb.Value_StringValue:
		if isSecret && !isUnknown(v) {
			texts = append(texts, kind.StringValue)
		}
	case *structpb.Value_StructValue:
		if secret, ok := secretOf(kind.StructValue); ok {
			return secretTexts(secret, true)
		}
		for _, one := range kind.StructValue.GetFields() {
			texts = append(texts, secretTexts(one, isSecret)...)
		}
	case *structpb.Value_ListValue:
		for _, one := range kind.ListValue.GetValues() {
			texts = append(texts, secretTexts(one, isSecret)...)
		}
	}
	return texts
}

// newReplacer replaces each text, and the name or host in it that messages show instead. Longer texts come first.
func newReplacer(texts []string) *strings.Replacer {
	var all []string
	for _, text := range texts {
		all = append(all, text)
		if u, err := url.Parse(text); err == nil && u.Host != "" {
			all = append(all, u.Host)
		}
		if strings.HasPrefix(text, "arn:") && !isRole(text) {
			all = append(all, sluice.ARNName(text), sluice.RevisionOf(text))
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	var pairs []string
	for _, text := range all {
		if len(text) >= minSecret {
			pairs = append(pairs, text, redacted)
		}
	}
	return strings.NewReplacer(pairs...)
}

// isRole reports whether a text is the ARN of a role. Messages show it completely.
func isRole(arn string) bool {
	return strings.HasPrefix(arn, "arn:") && strings.Contains(arn, ":role/")
}
