package wire

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	smithy "github.com/aws/smithy-go"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// Protocol is how a service's requests and replies are written.
type Protocol int

const (
	JSON11   Protocol = iota // awsJson 1.1: X-Amz-Target and a JSON object
	Query                    // a form in, XML out
	EC2Query                 // EC2's dialect of query
	JSON10                   // awsJson 1.0
	CBOR                     // Smithy RPC v2 CBOR: the operation in the path, a CBOR map
)

// Room is one AWS API over the world.
type Room struct {
	Name      string   // IAM name: "ecs"
	Signing   string   // name in signatures where it is another: "monitoring" of cloudwatch
	ServiceID string   // the SDK's service id: "ECS"
	Protocol  Protocol // what its clients speak
	// Also are further protocols that clients may choose instead, with the same
	// names of members. EC2Query has names of its own and cannot be one of several.
	Also      []Protocol
	Target    string // X-Amz-Target before the dot; for CBOR the service in the path
	Version   string // the API's version, query protocols only
	Namespace string // XML namespace, query protocols only

	// Operations are the calls of the API: bound methods of the form
	// func(context.Context, *XInput) (*XOutput, error), called X, or [Named].
	Operations []any

	// LowerFirst: members are written with a lower first letter (ECS,
	// CodeDeploy, Logs); else as the Go field is called.
	LowerFirst bool
	// Names are members that follow neither rule: "Type.Field" -> name.
	Names map[string]string
	// Errors are zero values of the service's modelled errors
	// (&ecstypes.ClientException{}). A refusal with the code or the type name of
	// one of them becomes that type in [Server.Call], and takes its code in the
	// query protocols. (Through the codec, some SDK clients type an error only
	// where the operation's own model names it; Call types it everywhere.)
	Errors []smithy.APIError
	// BadEnum is the code of the refusal of a value that an enumeration of the
	// model does not have. Empty: the room itself looks at such values.
	BadEnum string
	// QueryCodes are the codes that errors had when the service spoke query alone,
	// by their types: "InvalidFormatFault" -> "InvalidFormat". They are sent in
	// every protocol: query-compatible clients show them instead of the type.
	QueryCodes map[string]string
	// Unions are pointers to zero values of the members of union types that
	// the room's inputs and outputs hold (&ecstypes.SharingStrategyMemberX{}).
	Unions []any
	// Document makes the SDK's document value from plain Go values, where the
	// service has members of that kind (ecs/document.NewLazyDocument).
	Document func(any) any
	// Missing is the refusal of a read of one object that does not exist, by
	// operation; a stale read of a new object is answered with it.
	Missing map[string]func(id string) *world.Refusal
	// Unsigned are operations that need no signature.
	Unsigned []string
	// Known are operations that AWS has and the room has not. They are answered
	// as unknown ones are, and named in the log.
	Known []string
	// Identify recognizes credentials that the room gave out; nil if it gives
	// none. ok is false for foreign ones; a refusal ends the call.
	Identify func(accessKey, sessionToken string, now time.Time) (c Caller, ok bool, err *world.Refusal)
}

// room is a Room with what was found out about it.
type room struct {
	Room
	codec    *codec
	ops      map[string]*operation
	known    map[string]bool
	unsigned map[string]bool
	errors   map[string]modelled
	also     []*room // the same room in its other protocols
}

// operation is one method of a room; its shapes are planned at first use.
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

func newRoom(r Room) *room {
	o := &room{Room: r, ops: map[string]*operation{}, known: setOf(r.Known), unsigned: setOf(r.Unsigned), errors: modelledErrors(r)}
	o.codec = &codec{room: &o.Room, plans: map[reflect.Type]*shape{}}
	for _, f := range r.Operations {
		v := reflect.ValueOf(callOf(f))
		if !isOperation(v.Type()) {
			panic(fmt.Sprintf("wire: room %q: %s is no operation", r.Name, v.Type()))
		}
		name := OperationName(f)
		o.ops[name] = &operation{name: name, call: v, in: v.Type().In(1).Elem(), out: v.Type().Out(0).Elem()}
	}
	if len(o.ops) == 0 {
		panic(fmt.Sprintf("wire: room %q has no operations", r.Name))
	}
	o.also = o.variants()
	return o
}

// Named is a call whose input's type does not tell its name.
type Named struct {
	Name string
	Call any
}

// OperationName is the name of a call: X of *XInput, unless it is [Named].
func OperationName(operation any) string {
	if n, ok := operation.(Named); ok {
		return n.Name
	}
	return strings.TrimSuffix(reflect.TypeOf(operation).In(1).Elem().Name(), "Input")
}

func callOf(operation any) any {
	if n, ok := operation.(Named); ok {
		return n.Call
	}
	return operation
}

func isOperation(t reflect.Type) bool {
	return t.Kind() == reflect.Func && t.NumIn() == 2 && t.NumOut() == 2 && t.In(0) == ctxType && t.Out(1) == errorType &&
		isStructPointer(t.In(1)) && isStructPointer(t.Out(0))
}

func isStructPointer(t reflect.Type) bool {
	return t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct
}

// plans returns the shapes of an operation's input and output.
func (r *room) plans(o *operation) (in, out *shape) {
	o.once.Do(func() { o.inPlan, o.outPlan = r.codec.plan(o.in), r.codec.plan(o.out) })
	return o.inPlan, o.outPlan
}

func setOf(names []string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}
