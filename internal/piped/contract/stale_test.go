package contract_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/sluice-ecs/sluice/internal/piped/contract/contracttest"
)

// The generated code holds exactly what the .proto files say. They are written one
// declaration a line, which is all that the reader here understands.
func TestGeneratedCodeIsFresh(t *testing.T) {
	files, err := filepath.Glob("*.proto")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		written := readProto(t, file)
		d, err := protoregistry.GlobalFiles.FindFileByPath("contract/" + file)
		if err != nil {
			t.Fatal(err)
		}
		generated := describe(d)
		for _, line := range written {
			if !slices.Contains(generated, line) {
				t.Errorf("%s: %q is not in the generated code: run generate.sh", file, line)
			}
		}
		for _, line := range generated {
			if !slices.Contains(written, line) {
				t.Errorf("%s: %q is in the generated code only: run generate.sh", file, line)
			}
		}
	}
}

var (
	opens = regexp.MustCompile(`^(message|enum|service) (\w+) \{$`)
	field = regexp.MustCompile(
		`^(repeated )?(map<string, [\w.]+>|[\w.]+) (\w+) = (\d+)(?: \[\(sluice\.piped\.rule\)\.(\w+) = (.+)\])?;`)
	enumValue = regexp.MustCompile(`^(\w+) = (\d+);`)
	method    = regexp.MustCompile(`^rpc (\w+)\((\w+)\) returns \((\w+)\);`)
)

// readProto are the declarations of a file, one line each, with their full names.
func readProto(t *testing.T, file string) []string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all, scope []string
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "package "); ok {
			scope = []string{strings.TrimSuffix(name, ";")}
		}
		path := strings.Join(scope, ".")
		if m := opens.FindStringSubmatch(line); m != nil {
			scope = append(scope, m[2])
			all = append(all, m[1]+" "+path+"."+m[2])
		} else if m := method.FindStringSubmatch(line); m != nil {
			all = append(all, fmt.Sprintf("rpc %s.%s %s %s", path, m[1], m[2], m[3]))
		} else if m := enumValue.FindStringSubmatch(line); m != nil {
			all = append(all, fmt.Sprintf("value %s.%s %s", path, m[1], m[2]))
		} else if m := field.FindStringSubmatch(line); m != nil {
			all = append(all, fmt.Sprintf("field %s.%s %s %s%s %s", path, m[3], m[4], m[1], lastPart(m[2]),
				strings.TrimSpace(m[5]+" "+m[6])))
		} else if line == "}" && len(scope) > 1 {
			scope = scope[:len(scope)-1]
		} else if strings.HasPrefix(line, "extend ") {
			scope = append(scope, "extend")
		}
	}
	return all
}

// lastPart is a type without its package: "map<string, KeyValues>", "Deployment".
func lastPart(name string) string {
	head, rest, isMap := strings.Cut(name, ", ")
	if isMap {
		return head + ", " + lastPart(rest)
	}
	return name[strings.LastIndexByte(name, '.')+1:]
}

// describe are the same lines of the generated code.
func describe(d protoreflect.FileDescriptor) []string {
	all := describeMessages(d.Messages())
	all = append(all, describeEnums(d.Enums())...)
	for i := range d.Extensions().Len() {
		all = append(all, describeField(d.Extensions().Get(i),
			string(d.Package())+".extend."+string(d.Extensions().Get(i).Name())))
	}
	for i := range d.Services().Len() {
		s := d.Services().Get(i)
		all = append(all, "service "+string(s.FullName()))
		for j := range s.Methods().Len() {
			m := s.Methods().Get(j)
			all = append(all, fmt.Sprintf("rpc %s %s %s", m.FullName(), m.Input().Name(), m.Output().Name()))
		}
	}
	return all
}

func describeMessages(list protoreflect.MessageDescriptors) (all []string) {
	for i := range list.Len() {
		m := list.Get(i)
		if m.IsMapEntry() {
			continue
		}
		all = append(all, "message "+string(m.FullName()))
		for j := range m.Fields().Len() {
			all = append(all, describeField(m.Fields().Get(j), string(m.Fields().Get(j).FullName())))
		}
		all = append(all, describeMessages(m.Messages())...)
		all = append(all, describeEnums(m.Enums())...)
	}
	return all
}

// describeEnums: the full name of an enum's value leaves the enum out; the lines
// here do not.
func describeEnums(list protoreflect.EnumDescriptors) (all []string) {
	for i := range list.Len() {
		e := list.Get(i)
		all = append(all, "enum "+string(e.FullName()))
		for j := range e.Values().Len() {
			v := e.Values().Get(j)
			all = append(all, fmt.Sprintf("value %s.%s %d", e.FullName(), v.Name(), v.Number()))
		}
	}
	return all
}

func describeField(f protoreflect.FieldDescriptor, name string) string {
	kind := kindOf(f)
	switch {
	case f.IsMap():
		kind = "map<string, " + kindOf(f.MapValue()) + ">"
	case f.IsList():
		kind = "repeated " + kind
	}
	return fmt.Sprintf("field %s %d %s %s", name, f.Number(), kind, contracttest.RuleText(f))
}

func kindOf(f protoreflect.FieldDescriptor) string {
	switch {
	case f.Message() != nil:
		return string(f.Message().Name())
	case f.Enum() != nil:
		return string(f.Enum().Name())
	}
	return f.Kind().String()
}
