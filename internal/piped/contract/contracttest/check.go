// Package contracttest checks messages against piped's rules, as piped does. Only tests need that: piped refuses a
// message that breaks a rule.
//
// Start reading at [Check].
package contracttest

import (
	"fmt"
	"regexp"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/sluice-ecs/sluice/internal/piped/contract"
)

// Check checks a message and its nested messages against the rules of the fields. Its error names
// the field.
func Check(m proto.Message) error { return checkMessage(m.ProtoReflect(), "") }

func checkMessage(m protoreflect.Message, path string) error {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if err := checkField(m, f, path+string(f.Name())); err != nil {
			return err
		}
	}
	return nil
}

func checkField(m protoreflect.Message, f protoreflect.FieldDescriptor, path string) error {
	v := m.Get(f)
	switch {
	case f.IsMap():
		return checkMap(f, v.Map(), path)
	case f.IsList():
		return checkList(f, v.List(), path)
	case f.Message() != nil && !m.Has(f):
		if ruleOf(f).GetRequired() {
			return fmt.Errorf("%s is not set", path)
		}
		return nil
	case f.Message() != nil:
		return checkMessage(v.Message(), path+".")
	}
	return checkValue(f, ruleOf(f), v, path)
}

func checkMap(f protoreflect.FieldDescriptor, m protoreflect.Map, path string) (err error) {
	if f.MapValue().Message() == nil {
		return nil
	}
	m.Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
		err = checkMessage(v.Message(), fmt.Sprintf("%s[%s].", path, k))
		return err == nil
	})
	return err
}

func checkList(f protoreflect.FieldDescriptor, l protoreflect.List, path string) error {
	for i := range l.Len() {
		if f.Message() == nil {
			continue
		}
		if err := checkMessage(l.Get(i).Message(), fmt.Sprintf("%s[%d].", path, i)); err != nil {
			return err
		}
	}
	return nil
}

func ruleOf(f protoreflect.FieldDescriptor) *contract.Rule {
	r, _ := proto.GetExtension(f.Options(), contract.E_Rule).(*contract.Rule)
	return r
}

func checkValue(f protoreflect.FieldDescriptor, r *contract.Rule, v protoreflect.Value, path string) error {
	switch {
	case r == nil:
		return nil
	case r.GetMinLen() > 0 && utf8.RuneCountInString(v.String()) < int(r.GetMinLen()):
		return fmt.Errorf("%s has fewer than %d characters", path, r.GetMinLen())
	case r.GetPositive() && v.Int() <= 0:
		return fmt.Errorf("%s is %d, not above 0", path, v.Int())
	case r.GetNotNegative() && v.Int() < 0:
		return fmt.Errorf("%s is %d, below 0", path, v.Int())
	case r.GetDefinedOnly() && f.Enum().Values().ByNumber(v.Enum()) == nil:
		return fmt.Errorf("%s is %d, which has no name", path, v.Enum())
	case r.GetPattern() != "" && !regexp.MustCompile(r.GetPattern()).MatchString(v.String()):
		return fmt.Errorf("%s does not fit %s", path, r.GetPattern())
	}
	return nil
}

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
