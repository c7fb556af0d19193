package wire

import (
	"context"
	"fmt"
	"net/url"
	"reflect"
	"sync"
	"time"

	smithy "github.com/aws/smithy-go"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// Protocol is the encoding of a service's requests and replies.
type Protocol int

const (
	JSON11   Protocol = iota // awsJson 1.1: X-Amz-Target and a JSON object
	Query                    // a form in, XML out
	EC2Query                 // EC2's dialect of query
	JSON10                   // awsJson 1.0
	CBOR                     // Smithy RPC v2 CBOR: the operation in the path, a CBOR map
	REST                     // the operation in method and path, see [API.Route]; JSON or the output's own bytes out
)

// API is one AWS API on the world.
type API struct {
	Name      string   // IAM name: "ecs"
	Signing   string   // name in signatures if it differs: "monitoring" of cloudwatch
	ServiceID string   // the SDK's service id: "ECS"
	Protocol  Protocol // the protocol of its clients
	// Also lists further protocols that clients may choose, with the same field names. EC2Query has
	// its own field names and cannot be one of several.
	Also      []Protocol
	Target    string // X-Amz-Target before the dot; for CBOR the service in the path
	Version   string // the API's version, query protocols only
	Namespace string // XML namespace, query protocols only

	// Route returns the operation of a request and the members of its input, which are texts; REST only.
	Route func(method, path string, query url.Values) (operation string, members map[string]string)
	// XMLErrors: refusals are XML, as of S3; REST only. Otherwise they are JSON, as of Lambda.
	XMLErrors bool

	// Service has the calls of the API: see [API.Operations].
	Service any

	// LowerFirst: field names begin with a lower-case letter (ECS, CodeDeploy, Logs); otherwise
	// they are the Go names.
	LowerFirst bool
	// Names holds field names that follow neither rule: "Type.Field" -> name.
	Names map[string]string
	// Errors are zero values of the service's modelled errors (&ecstypes.ClientException{}).
	// [Server.Call] returns a refusal with the code or the type name of one of them as that type,
	// and the query protocols use its code. (Through the codec, some SDK clients type an error only
	// if the operation's own model names it; Call types it everywhere.)
	Errors []smithy.APIError
	// Violation is the error code for input that violates constraints of the model. Empty: the API
	// checks its input itself.
	Violation string
	// Constraints are those of the model that the SDK's types do not show: "Type.Field" -> constraint.
	Constraints map[string]Constraint
	// EnumWords has sentences of the service's own about such values in a member of an input, by its
	// name: "launchType". {value} in a sentence is the value.
	EnumWords map[string]string
	// QueryCodes are the error codes from the time when the service had only the query protocol, by
	// error type: "InvalidFormatFault" -> "InvalidFormat". They are sent in every protocol:
	// query-compatible clients show them instead of the type.
	QueryCodes map[string]string
	// Unions are pointers to zero values of the union members in the API's inputs and outputs
	// (&ecstypes.SharingStrategyMemberX{}).
	Unions []any
	// Document creates the SDK's document value from plain Go values, if the service has such
	// fields (ecs/document.NewLazyDocument).
	Document func(any) any
	// Missing returns the error for a read of an object that does not exist, by operation; it also
	// answers a stale read of a new object.
	Missing map[string]func(id string) *world.Refusal
	// Unsigned lists the operations that need no signature.
	Unsigned []string
	// Known lists operations that AWS has and the API does not. They get the answer for unknown
	// operations, and the log names them.
	Known []string
	// Identify recognizes credentials that the API issued; nil if it issues none. ok is false for
	// other credentials; a refusal ends the call.
	Identify func(accessKey, sessionToken string, now time.Time) (c Caller, ok bool, err *world.Refusal)
}

// preparedAPI is an API with its parsed operations and types.
type preparedAPI struct {
	API
	codec              *codec
	ops                map[string]*operation
	knownOperations    map[string]bool
	unsignedOperations map[string]bool
	errors             map[string]modelledError
	otherProtocols     []*preparedAPI // the same API in its other protocols
}

// operation is one method of an API; its shapes are planned at first use.
type operation struct {
	name    string
	call    reflect.Value
	in, out reflect.Type // struct types
	once    sync.Once
	inPlan  *shape
	outPlan *shape
}

var (
	ctxType   = reflect.TypeFor[context.Context]()
	errorType = reflect.TypeFor[error]()
)

func prepareAPI(r API) *preparedAPI {
	o := &preparedAPI{API: r, ops: map[string]*operation{}, knownOperations: setOf(r.Known),
		unsignedOperations: setOf(r.Unsigned), errors: modelledErrors(r)}
	o.codec = &codec{api: &o.API, plans: map[reflect.Type]*shape{}}
	for name, call := range r.Operations() {
		o.ops[name] = &operation{name: name, call: call, in: call.Type().In(1).Elem(), out: call.Type().Out(0).Elem()}
	}
	if len(o.ops) == 0 {
		panic(fmt.Sprintf("wire: API %q has no operations", r.Name))
	}
	o.otherProtocols = o.protocolVariants()
	return o
}

// Operations returns the calls of an API by name: the exported methods of its service that have the form
// func(context.Context, *XInput) (*XOutput, error).
func (r API) Operations() map[string]reflect.Value {
	all := map[string]reflect.Value{}
	service := reflect.ValueOf(r.Service)
	for i := range service.NumMethod() {
		if call := service.Method(i); isOperation(call.Type()) {
			all[service.Type().Method(i).Name] = call
		}
	}
	return all
}

func isOperation(t reflect.Type) bool {
	return t.Kind() == reflect.Func && t.NumIn() == 2 && t.NumOut() == 2 && t.In(0) == ctxType &&
		t.Out(1) == errorType &&
		isStructPointer(t.In(1)) && isStructPointer(t.Out(0))
}

func isStructPointer(t reflect.Type) bool {
	return t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct
}

// operationShapes returns the shapes of an operation's input and output.
func (r *preparedAPI) operationShapes(o *operation) (in, out *shape) {
	o.once.Do(func() { o.inPlan, o.outPlan = r.codec.planType(o.in), r.codec.planType(o.out) })
	return o.inPlan, o.outPlan
}

func setOf(names []string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}
