package contract

import (
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// RuleText is the rule of a field as a file gives it: "min_len 1".
func RuleText(f protoreflect.FieldDescriptor) (text string) {
	r := ruleOf(f)
	if r == nil {
		return ""
	}
	r.ProtoReflect().Range(func(d protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		text = fmt.Sprintf("%s %v", d.Name(), v)
		if d.Kind() == protoreflect.StringKind {
			text = fmt.Sprintf("%s %q", d.Name(), v.String())
		}
		return true
	})
	return text
}
