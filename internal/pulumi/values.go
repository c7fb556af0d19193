package pulumi

import (
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

// unknown is the text of the contract for a value that is not known in a preview. The other texts stand for
// values of other types.
const unknown = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"

var unknownTexts = map[string]bool{
	unknown:                                true,
	"1c4a061d-8072-4f0a-a4cb-0ff528b18fe7": true, // bool
	"3eeb2bf0-c639-47a8-9e75-3b44932eb421": true, // number
	"6a19a0b0-7e62-4c92-b797-7f8e31da9cc2": true, // array
	"030794c1-ac77-496b-92df-f27374a8bd58": true, // asset
	"e48ece36-62e2-4504-bad9-02848725956a": true, // archive
	"dd056dcd-154b-4c76-9bd3-c8f88648b5ff": true, // object
}

// isUnknown reports whether a value is not known yet.
func isUnknown(v *structpb.Value) bool {
	s, ok := v.GetKind().(*structpb.Value_StringValue)
	return ok && unknownTexts[s.StringValue]
}

// isAbsent reports whether a value was not given.
func isAbsent(v *structpb.Value) bool {
	_, null := v.GetKind().(*structpb.Value_NullValue)
	return v.GetKind() == nil || null
}

// isEqual reports whether two values are the same; an absent one equals null.
func isEqual(a, b *structpb.Value) bool {
	if isAbsent(a) || isAbsent(b) {
		return isAbsent(a) && isAbsent(b)
	}
	return proto.Equal(a, b)
}

// kindOf returns the kind of a value for users.
func kindOf(v *structpb.Value) string {
	switch v.GetKind().(type) {
	case *structpb.Value_StringValue:
		return "a string"
	case *structpb.Value_NumberValue:
		return "a number"
	case *structpb.Value_BoolValue:
		return "a boolean"
	case *structpb.Value_ListValue:
		return "a list"
	case *structpb.Value_StructValue:
		return "an object"
	}
	return "nothing"
}

// typeOfURN returns the type token in a URN: urn:pulumi:stack::project::parent$type::name.
func typeOfURN(urn string) string {
	parts := strings.SplitN(urn, "::", 4)
	if len(parts) < 4 {
		return ""
	}
	return parts[2][strings.LastIndexByte(parts[2], '$')+1:]
}
