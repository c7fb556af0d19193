package wire

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"reflect"
	"strings"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	smithy "github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// modelledError is an error of a service's model.
type modelledError struct {
	code string
	typ  reflect.Type // struct
}

// modelledErrors indexes the errors by code and by type name. They differ in the query protocols:
// TargetGroupNotFound and TargetGroupNotFoundException.
func modelledErrors(r API) map[string]modelledError {
	m := map[string]modelledError{}
	for _, e := range r.Errors {
		t := reflect.TypeOf(e).Elem()
		x := modelledError{code: e.ErrorCode(), typ: t}
		if code, ok := r.QueryCodes[t.Name()]; ok {
			x.code = code
		}
		if _, taken := m[x.code]; !taken {
			m[x.code] = x
		}
		m[t.Name()] = x
	}
	return m
}

// protocolCode returns a refusal's code as the API's protocol writes it.
func (r *preparedAPI) protocolCode(ref *world.Refusal) string {
	if m, ok := r.errors[ref.Code]; ok {
		return m.code
	}
	if (r.Protocol.isJSON() || r.Protocol == REST) && !r.isQueryCompatible() {
		return ref.Code
	}
	if code, ok := irregularCode(r.Protocol, ref.Code); ok {
		return code
	}
	return strings.TrimSuffix(ref.Code, "Exception")
}

// irregularCode returns the codes that the query protocols do not form by dropping "Exception".
func irregularCode(p Protocol, code string) (string, bool) {
	switch {
	case code == "ALPNPolicyNotSupportedException":
		return "ALPNPolicyNotFound", true
	case p == CBOR || p == JSON10:
		return modernCode(code)
	case code == "ThrottlingException" && p == EC2Query:
		return "RequestLimitExceeded", true
	case code == "UnrecognizedClientException" && p == EC2Query:
		return "AuthFailure", true
	case code == "UnrecognizedClientException":
		return "InvalidClientTokenId", true
	}
	return "", false
}

func httpStatus(ref *world.Refusal) int {
	if ref.Status == 0 {
		return http.StatusBadRequest
	}
	return ref.Status
}

// refusalReply returns the reply for a refusal.
func (r *preparedAPI) refusalReply(ref *world.Refusal, id string) reply {
	ref = printableRefusal(ref)
	code := r.protocolCode(ref)
	switch r.Protocol {
	case CBOR:
		return r.refusalCBOR(ref, code)
	case JSON11, JSON10:
		return r.refusalJSON(ref, code)
	case REST:
		return r.refusalREST(ref, code, id)
	case EC2Query:
		return xmlReply(httpStatus(ref), refusalEC2(code, ref.Message, id))
	}
	return xmlReply(httpStatus(ref), refusalXML(r.Namespace, code, ref, id))
}

// printableRefusal returns a refusal without control characters, which may come from the request: command
// lines print it.
func printableRefusal(ref *world.Refusal) *world.Refusal {
	out := *ref
	out.Message, out.Fields = world.Printable(ref.Message), maps.Clone(ref.Fields)
	for name, x := range out.Fields {
		if text, ok := x.(string); ok {
			out.Fields[name] = world.Printable(text)
		}
	}
	return &out
}

func (r *preparedAPI) refusalJSON(ref *world.Refusal, code string) reply {
	o := map[string]any{}
	for k, v := range ref.Fields {
		o[k] = v
	}
	if r.isQueryCompatible() {
		return r.refusalCompatible(ref, code)
	}
	o["__type"] = code
	message := "Message"
	if r.LowerFirst {
		message = "message"
	}
	o[message] = ref.Message
	b, err := json.Marshal(o)
	if err != nil {
		b, _ = json.Marshal(map[string]string{"__type": code, message: ref.Message})
	}
	return reply{status: httpStatus(ref), contentType: jsonType, body: b}
}

// faultSide returns the side that caused a refusal: Sender or Receiver.
func faultSide(ref *world.Refusal) string {
	if httpStatus(ref) >= 500 {
		return "Receiver"
	}
	return "Sender"
}

func refusalXML(namespace, code string, ref *world.Refusal, id string) []byte {
	b := []byte(`<ErrorResponse xmlns="`)
	b = append(appendText(b, namespace), `"><Error><Type>`...)
	b = append(append(b, faultSide(ref)...), "</Type><Code>"...)
	b = append(appendText(b, code), "</Code><Message>"...)
	b = append(appendText(b, ref.Message), "</Message></Error><RequestId>"...)
	return append(append(b, id...), "</RequestId></ErrorResponse>"...)
}

func refusalEC2(code, message, id string) []byte {
	b := []byte(xmlHead + "<Response><Errors><Error><Code>")
	b = append(appendText(b, code), "</Code><Message>"...)
	b = append(appendText(b, message), "</Message></Error></Errors><RequestID>"...)
	return append(append(b, id...), "</RequestID></Response>"...)
}

// asRefusal returns the refusal for an API's error. ok is false for errors that are defects of the
// API.
func asRefusal(err error) (ref *world.Refusal, ok bool) {
	if errors.As(err, &ref) {
		return ref, true
	}
	var api smithy.APIError
	if errors.As(err, &api) {
		return &world.Refusal{Code: api.ErrorCode(), Message: api.ErrorMessage()}, true
	}
	return (&Injected{Status: 500}).injectedRefusal(), false
}

// asSDKError returns the error that the SDK's client would create for a refusal.
func (r *preparedAPI) asSDKError(ref *world.Refusal, id string) error {
	ref = printableRefusal(ref)
	header := http.Header{}
	header.Set(requestID, id)
	return &awshttp.ResponseError{RequestID: id, ResponseError: &smithyhttp.ResponseError{
		Response: &smithyhttp.Response{Response: &http.Response{StatusCode: httpStatus(ref), Header: header}},
		Err:      r.typedError(ref),
	}}
}

func (r *preparedAPI) typedError(ref *world.Refusal) error {
	m, ok := r.errors[ref.Code]
	if !ok {
		return &smithy.GenericAPIError{Code: r.protocolCode(ref), Message: ref.Message}
	}
	p := reflect.New(m.typ)
	setMember(p.Elem(), "Message", ref.Message)
	if r.isQueryCompatible() {
		setMember(p.Elem(), "ErrorCodeOverride", m.code)
	}
	for name, x := range ref.Fields {
		setMember(p.Elem(), upperFirst(name), x)
	}
	return p.Interface().(error)
}

// setMember stores x in the field of that name, through a pointer if the SDK has one. It ignores a
// field that does not exist or has another kind.
func setMember(v reflect.Value, name string, x any) {
	f, xv := v.FieldByName(name), reflect.ValueOf(x)
	if !f.IsValid() || !xv.IsValid() {
		return
	}
	if f.Kind() == reflect.Pointer && xv.Kind() != reflect.Pointer {
		p := reflect.New(f.Type().Elem())
		assignValue(p.Elem(), xv)
		f.Set(p)
		return
	}
	assignValue(f, xv)
}

func assignValue(f, x reflect.Value) {
	if x.Type().AssignableTo(f.Type()) {
		f.Set(x)
	} else if x.Kind() == f.Kind() && x.CanConvert(f.Type()) {
		f.Set(x.Convert(f.Type()))
	}
}
