package wire

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"sync/atomic"

	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/sluice-ecs/sluice/awssim/world"
)

const (
	jsonType  = "application/x-amz-json-1.1"
	xmlType   = "text/xml;charset=UTF-8"
	xmlHead   = `<?xml version="1.0" encoding="UTF-8"?>` + "\n"
	requestID = "X-Amzn-Requestid"
)

// Server is one endpoint for all APIs. It is safe for concurrent use.
type Server struct {
	world  *world.World
	apis   []*preparedAPI
	faults atomic.Pointer[Faulter]
	quiet  atomic.Bool
	served atomic.Uint64
}

// New creates a server of APIs on a world. It panics if an API is invalid.
func New(w *world.World, rooms ...API) *Server {
	s := &Server{world: w}
	for _, r := range rooms {
		s.apis = append(s.apis, prepareAPI(r))
	}
	w.Watch(noteCreation)
	return s
}

// SetFaulter sets the Faulter of all calls from now on; nil removes it.
func (s *Server) SetFaulter(f Faulter) {
	if f == nil {
		s.faults.Store(nil)
		return
	}
	s.faults.Store(&f)
}

func (s *Server) currentFaulter() Faulter {
	if f := s.faults.Load(); f != nil {
		return *f
	}
	return nil
}

// SetQuiet keeps calls out of the world's log.
func (s *Server) SetQuiet(quiet bool) { s.quiet.Store(quiet) }

// Identify returns the caller of an access key. 12 digits are that account; keys that an API issued
// belong to its caller; any other key is [Anonymous]. The error is a *world.Refusal (expired
// credentials).
func (s *Server) Identify(accessKey, sessionToken string) (Caller, error) {
	if isAccount(accessKey) {
		return Caller{AccessKey: accessKey, Account: accessKey}, nil
	}
	for _, r := range s.apis {
		if r.Identify == nil {
			continue
		}
		if c, ok, ref := r.Identify(accessKey, sessionToken, s.world.Now()); ref != nil {
			return Caller{}, ref
		} else if ok {
			return c, nil
		}
	}
	return Caller{AccessKey: accessKey, Account: Anonymous}, nil
}

// reply is an HTTP answer without its transport.
type reply struct {
	status      int
	contentType string
	body        []byte
	queryError  string // X-Amzn-Query-Error: "InvalidFormat;Sender"
	header      map[string]string
}

func (a *reply) httpHeader(id string) http.Header {
	h := http.Header{requestID: {id}, "Content-Type": {a.contentType}}
	for name, value := range a.header {
		h.Set(name, value)
	}
	if a.contentType == cborType {
		h[rpcHeader] = []string{rpcCBOR}
	}
	if a.queryError != "" {
		h["X-Amzn-Query-Error"] = []string{a.queryError}
	}
	return h
}

func xmlReply(status int, body []byte) reply {
	return reply{status: status, contentType: xmlType, body: body}
}

// ServeHTTP answers one request of any API's client. A dropped call closes the connection.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := s.nextID()
	a, err := s.answerRequest(w, r, id)
	if o, ok := err.(Outage); ok {
		o.writeTo(w)
		return
	}
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	h := w.Header()
	maps.Copy(h, a.httpHeader(id))
	h["Content-Length"] = []string{strconv.Itoa(len(a.body))}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body)
}

// RoundTrip answers a request in process, with the same bytes as over a socket. A dropped call is
// io.EOF. There is no Date header, so that clients do not take virtual time for clock skew.
func (s *Server) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer r.Body.Close()
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	id := s.nextID()
	a, err := s.answerRequest(nil, r, id)
	if o, ok := err.(Outage); ok {
		return o.roundTrip(r)
	}
	if err != nil {
		return nil, io.EOF
	}
	sent := a.body
	if r.Method == http.MethodHead {
		sent = nil
	}
	return &http.Response{
		Status: strconv.Itoa(a.status) + " " + http.StatusText(a.status), StatusCode: a.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header:        a.httpHeader(id),
		ContentLength: int64(len(a.body)), Body: io.NopCloser(bytes.NewReader(sent)),
	}, nil
}

// Call passes an input to an API without a protocol. serviceID and operation are the SDK's names.
// Input and output are pointers to the SDK's types, copied in both directions. Account, Region and
// caller are those of ctx ([WithCaller], [world.WithKey]). Errors are those of the SDK's client,
// inside its operation error.
func (s *Server) Call(ctx context.Context, serviceID, operation string, input any) (any, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r := s.findAPI(func(r *preparedAPI) bool { return r.ServiceID == serviceID })
	if r == nil {
		return nil, fmt.Errorf("call %s of %q: the service is not simulated", operation, serviceID)
	}
	id := s.nextID()
	key := world.KeyOf(ctx)
	o := r.ops[operation]
	if o == nil {
		return nil, r.asSDKError(s.refuseOperation(r, key, operation), id)
	}
	if reflect.TypeOf(input) != reflect.PointerTo(o.in) {
		return nil, fmt.Errorf("call %s of %q: input is %T, want *%s", operation, serviceID, input, o.in)
	}
	in, out := r.operationShapes(o)
	v := reflect.New(in.typ)
	if p := reflect.ValueOf(input); !p.IsNil() {
		v.Elem().Set(in.deepCopy(p.Elem()))
	}
	c := &call{ctx: ctx, key: key, api: r, op: o, in: v}
	if ref := r.checkModel(in, v.Elem()); ref != nil {
		s.logCall(c, ref.Error())
		return nil, r.asSDKError(ref, id)
	}
	got, err := s.handleCall(c)
	if o, ok := err.(Outage); ok {
		return o.sdkResult(ctx, reflect.New(out.typ).Interface())
	}
	if err == errDropped {
		return nil, &smithyhttp.RequestSendError{Err: &url.Error{Op: "Post", URL: "direct:", Err: io.EOF}}
	}
	if err != nil {
		return nil, r.asSDKError(err.(*world.Refusal), id)
	}
	p := reflect.New(out.typ)
	p.Elem().Set(out.deepCopy(got.Elem()))
	return p.Interface(), nil
}

// CheckInput refuses an input of an API, a pointer to the SDK's type, that violates constraints of
// the model, as a call with it is refused.
func (s *Server) CheckInput(input any) error {
	v := reflect.ValueOf(input).Elem()
	for _, r := range s.apis {
		for _, o := range r.ops {
			if o.in != v.Type() {
				continue
			}
			in, _ := r.operationShapes(o)
			if ref := r.checkModel(in, v); ref != nil {
				return ref
			}
			return nil
		}
	}
	return fmt.Errorf("check %T: no operation has this input", input)
}

func (s *Server) findAPI(is func(*preparedAPI) bool) *preparedAPI {
	for _, r := range s.apis {
		if is(r) {
			return r
		}
	}
	return nil
}

// refuseOperation rejects an operation that the API does not have. AWS returns the code only; here
// the message says if AWS has the operation and the simulator does not.
func (s *Server) refuseOperation(r *preparedAPI, key world.Key, operation string) *world.Refusal {
	if r.knownOperations[operation] && !s.quiet.Load() {
		_ = s.world.Do(key, func(tx *world.Tx) error {
			tx.Log("call", r.Name+"."+operation, "not simulated")
			return nil
		})
	}
	text := "The action " + operation + " is not valid for this web service."
	if r.knownOperations[operation] {
		text = r.Name + ":" + operation + ": not simulated."
	}
	switch {
	case r.Protocol == CBOR:
		return &world.Refusal{Code: "UnknownOperationException", Message: text, Status: http.StatusNotFound}
	case r.Protocol.isJSON():
		return &world.Refusal{Code: "UnknownOperationException", Message: text}
	}
	return &world.Refusal{Code: "InvalidAction", Message: text}
}

// nextID returns a request id: unique within the server, and the same in a replay.
func (s *Server) nextID() string {
	n := s.served.Add(1)
	return uuidOf(mixBits(n), mixBits(^n))
}

func uuidOf(a, b uint64) string {
	const digits = "0123456789abcdef"
	id := []byte("00000000-0000-4000-a000-000000000000")
	for i := len(id) - 1; i >= 0; i-- {
		if id[i] != '0' {
			continue
		}
		id[i] = digits[b&15]
		a, b = a>>4|(b&15)<<60, b>>4|(a&15)<<60
	}
	return string(id)
}

// mixBits is the finalizer of splitmix64.
func mixBits(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
