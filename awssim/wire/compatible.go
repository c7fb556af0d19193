package wire

import (
	"encoding/json"
	"reflect"

	"github.com/aws/smithy-go/encoding/cbor"

	"github.com/sluice-ecs/sluice/awssim/world"
)

func cborReply(status int, body []byte) reply {
	return reply{status: status, contentType: cborType, body: body}
}

// errorType returns the shape name of a refusal: the name of its type in the model, otherwise its
// code.
func (r *preparedAPI) errorType(ref *world.Refusal) string {
	if m, ok := r.errors[ref.Code]; ok {
		return m.typ.Name()
	}
	return ref.Code
}

// queryError returns the header value that tells query-compatible clients the old code.
func (r *preparedAPI) queryError(ref *world.Refusal, code string) string {
	if !r.isQueryCompatible() {
		return ""
	}
	return code + ";" + faultSide(ref)
}

// modernCode returns the codes of the newer protocols that have no older form.
func modernCode(code string) (string, bool) {
	switch code {
	case "UnknownOperationException", "SerializationException", "MissingAuthenticationTokenException":
		return code, true
	case "UnrecognizedClientException":
		return "InvalidClientTokenId", true
	}
	return "", false
}

// messages are the field names of a refusal's text. Models use either spelling, and clients read
// the one of their model.
var messages = [...]string{"message", "Message"}

// refusalCBOR returns the reply for a refusal in RPC v2 CBOR.
func (r *preparedAPI) refusalCBOR(ref *world.Refusal, code string) reply {
	b := []byte{openMap}
	b = appendMember(b, "__type", r.errorType(ref))
	for _, name := range messages {
		b = appendMember(b, name, ref.Message)
	}
	for _, name := range sortedNames(ref.Fields) {
		if t, ok := ref.Fields[name].(string); ok {
			b = appendMember(b, name, t)
		}
	}
	a := cborReply(httpStatus(ref), append(b, closing))
	a.queryError = r.queryError(ref, code)
	return a
}

func appendMember(b []byte, name, value string) []byte {
	return appendValue(appendValue(b, cbor.String(name)), cbor.String(value))
}

func sortedNames(m map[string]any) []string {
	var names []string
	for _, k := range sortedKeys(reflect.ValueOf(m)) {
		names = append(names, k.String())
	}
	return names
}

// refusalCompatible returns the reply for a refusal of a query-compatible service in awsJson: the
// type in the body, the old code in the header.
func (r *preparedAPI) refusalCompatible(ref *world.Refusal, code string) reply {
	o := map[string]any{"__type": r.errorType(ref)}
	for k, v := range ref.Fields {
		if t, ok := v.(string); ok {
			o[k] = t
		}
	}
	for _, name := range messages {
		o[name] = ref.Message
	}
	b, _ := json.Marshal(o)
	return reply{status: httpStatus(ref), contentType: r.Protocol.jsonType(), body: b,
		queryError: r.queryError(ref, code)}
}
