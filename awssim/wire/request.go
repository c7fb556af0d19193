package wire

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strings"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// maxBody is the largest request body, unpacked.
const maxBody = 4 << 20

// request holds the parts of an HTTP request that dispatching needs.
type request struct {
	scope   scope
	target  string // X-Amz-Target
	values  url.Values
	body    []byte
	token   string // X-Amz-Security-Token
	isQuery bool
	rpc     *rpcPath // of RPC v2 CBOR, else nil

	method, path string
}

// scope is the credential scope of a signature.
type scope struct {
	signed, broken             bool
	accessKey, region, service string
}

// answerRequest returns the reply to a request; the error is errDropped or an Outage.
func (s *Server) answerRequest(w http.ResponseWriter, r *http.Request, id string) (reply, error) {
	q, ref := readRequest(w, r)
	rm := s.dispatchRequest(q)
	if rm == nil {
		return s.refuseUnknownService(q, id), nil
	}
	rm = rm.variantFor(q)
	if ref != nil {
		return rm.refusalReply(ref, id), nil
	}
	operation := q.operationName(rm)
	if rm.Protocol == REST {
		operation = q.routeREST(rm)
	}
	caller, ref := s.identifyCaller(rm, q, operation)
	if ref != nil {
		return rm.refusalReply(ref, id), nil
	}
	region := q.scope.region
	if region == "" {
		region = "us-east-1"
	}
	return s.performCall(r, rm, q, operation, caller, region, id)
}

// performCall decodes a call, handles it and encodes its output.
func (s *Server) performCall(r *http.Request, rm *preparedAPI, q *request, operation string, caller Caller, region,
	id string) (reply, error) {
	key := world.Key{Account: caller.Account, Region: region}
	o := rm.ops[operation]
	if o == nil {
		return rm.refusalReply(s.refuseOperation(rm, key, operation), id), nil
	}
	in, _ := rm.operationShapes(o)
	c := &call{ctx: WithCaller(r.Context(), caller, region), key: key, api: rm, op: o}
	var ref *world.Refusal
	switch {
	case rm.Protocol == CBOR:
		c.in, ref = in.decodeCBOR(q.body)
	case rm.Protocol.isJSON(), rm.Protocol == REST:
		c.in, ref = in.decodeJSON(q.body)
	default:
		c.in, ref = form{rm.Protocol}.decodeForm(in, q.values)
	}
	if ref == nil {
		ref = rm.checkModel(in, c.in.Elem())
	}
	if ref == nil && rm.Protocol == EC2Query && strings.EqualFold(q.values.Get("DryRun"), "true") {
		ref = &world.Refusal{Code: "DryRunOperation", Status: 412,
			Message: "Request would have succeeded, but DryRun flag is set."}
	}
	if ref != nil {
		s.logCall(c, ref.Error())
		return rm.refusalReply(ref, id), nil
	}
	out, err := s.handleCall(c)
	var refusal *world.Refusal
	if err != nil && !errors.As(err, &refusal) {
		return reply{}, err
	}
	if err != nil {
		return rm.refusalReply(refusal, id), nil
	}
	return rm.successReply(o, out, id), nil
}

// successReply returns the reply for an output.
func (r *preparedAPI) successReply(o *operation, out reflect.Value, id string) reply {
	_, plan := r.operationShapes(o)
	v := out.Elem()
	switch r.Protocol {
	case CBOR:
		return cborReply(200, plan.appendCBOR(make([]byte, 0, 1024), v))
	case JSON11, JSON10:
		return reply{status: 200, contentType: r.Protocol.jsonType(), body: plan.appendJSON(make([]byte, 0, 1024), v)}
	case REST:
		return r.restReply(plan, out)
	case EC2Query:
		b := append([]byte(xmlHead+"<"+o.name+`Response xmlns="`+r.Namespace+`"><requestId>`), id...)
		b = plan.appendXML(append(b, "</requestId>"...), v, "item")
		return xmlReply(200, append(b, "</"+o.name+"Response>"...))
	}
	b := []byte("<" + o.name + `Response xmlns="` + r.Namespace + `"><` + o.name + "Result>")
	b = plan.appendXML(b, v, "member")
	b = append(b, "</"+o.name+"Result><ResponseMetadata><RequestId>"...)
	return xmlReply(200, append(b, id+"</RequestId></ResponseMetadata></"+o.name+"Response>"...))
}

// identifyCaller returns the caller, or rejects an unsigned call.
func (s *Server) identifyCaller(r *preparedAPI, q *request, operation string) (Caller, *world.Refusal) {
	switch {
	case q.scope.broken:
		return Caller{}, &world.Refusal{Code: "IncompleteSignature", Status: 400,
			Message: "Authorization header requires 'Credential' parameter of the form " +
				"AccessKey/date/region/service/aws4_request."}
	case !q.scope.signed && r.unsignedOperations[operation]:
		return Caller{Account: Anonymous}, nil
	case !q.scope.signed:
		return Caller{}, unsignedRefusal(r.Protocol)
	}
	c, err := s.Identify(q.scope.accessKey, q.token)
	var ref *world.Refusal
	errors.As(err, &ref)
	return c, ref
}

func unsignedRefusal(p Protocol) *world.Refusal {
	switch p {
	case JSON11, JSON10:
		return &world.Refusal{Code: "MissingAuthenticationTokenException", Message: "Missing Authentication Token"}
	case EC2Query:
		return world.Refuse("MissingParameter", "The request must contain the parameter AWSAccessKeyId")
	}
	return &world.Refusal{Code: "MissingAuthenticationToken", Message: "Request is missing Authentication Token",
		Status: 403}
}

// dispatchRequest returns the API of a request. It checks the credential scope's service, then
// X-Amz-Target or the service in the path, then the API version. Services that share a signing name
// differ in version.
func (s *Server) dispatchRequest(q *request) *preparedAPI {
	prefix, _, _ := strings.Cut(q.target, ".")
	if q.rpc != nil {
		prefix = q.rpc.service
	}
	version := q.values.Get("Version")
	named := func(r *preparedAPI) bool { return q.scope.service != "" && r.signingName() == q.scope.service }
	if r := s.findAPI(func(r *preparedAPI) bool {
		return named(r) && version != "" &&
			r.Version == version
	}); r != nil {
		return r
	}
	if r := s.findAPI(func(r *preparedAPI) bool { return named(r) && !r.hasOtherVersion(version) }); r != nil {
		return r
	}
	if r := s.findAPI(func(r *preparedAPI) bool { return prefix != "" && r.Target == prefix }); r != nil {
		return r
	}
	if q.scope.service != "" {
		return nil
	}
	return s.findAPI(func(r *preparedAPI) bool { return version != "" && r.Version == version })
}

// hasOtherVersion reports whether a query names another version than the API has. The Classic Load
// Balancers share the signing name of the others.
func (r *preparedAPI) hasOtherVersion(version string) bool {
	return version != "" && r.Version != "" && r.Version != version
}

func (q *request) operationName(r *preparedAPI) string {
	if r.Protocol == CBOR {
		return q.rpc.operationOf(r)
	}
	if !r.Protocol.isJSON() {
		return q.values.Get("Action")
	}
	prefix, operation, _ := strings.Cut(q.target, ".")
	if prefix != r.Target {
		return q.target
	}
	return operation
}

// refuseUnknownService answers a request for an unknown service, in the client's likely protocol.
func (s *Server) refuseUnknownService(q *request, id string) reply {
	var names []string
	for _, r := range s.apis {
		names = append(names, r.Name)
	}
	what := q.scope.service
	if what == "" {
		what = "the request (no credential scope, X-Amz-Target or Version names one)"
	}
	if v := q.values.Get("Version"); v != "" && q.isQuery {
		what += " " + v
	}
	ref := printableRefusal(world.Refuse("ServiceNotSimulated", "%s is not simulated here; simulated are %s", what,
		strings.Join(names, ", ")))
	if q.rpc != nil {
		return (&preparedAPI{API: API{Protocol: CBOR}}).refusalReply(ref, id)
	}
	if q.isQuery {
		return xmlReply(400, refusalXML("", ref.Code, ref, id))
	}
	b, _ := json.Marshal(map[string]string{"__type": ref.Code, "message": ref.Message})
	return reply{status: 400, contentType: jsonType, body: b}
}

// readRequest parses a request. With a refusal it still returns the parts that it has read, for
// dispatching.
func readRequest(w http.ResponseWriter, r *http.Request) (*request, *world.Refusal) {
	q := &request{target: r.Header.Get("X-Amz-Target"), token: r.Header.Get("X-Amz-Security-Token"), rpc: rpcPathOf(r),
		method: r.Method, path: r.URL.Path}
	q.isQuery = q.target == "" && strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded")
	q.scope = scopeOf(r.Header.Get("Authorization"))
	if r.URL.RawQuery != "" {
		q.values = r.URL.Query()
		q.readPresigned()
	}
	body, ref := bodyOf(w, r)
	if ref != nil {
		return q, ref
	}
	q.body = body
	if !q.isQuery {
		return q, nil
	}
	form, err := url.ParseQuery(string(body))
	if q.values == nil {
		q.values = url.Values{}
	}
	for k, v := range form {
		q.values[k] = v
	}
	if err != nil {
		return q, &world.Refusal{Code: "MalformedQueryString", Message: "The query string contains a syntax error.",
			Status: 404}
	}
	return q, nil
}

// readPresigned takes the signature from the query string.
func (q *request) readPresigned() {
	if c := q.values.Get("X-Amz-Credential"); c != "" && !q.scope.signed {
		q.scope = scopeIn(c)
		q.token = q.values.Get("X-Amz-Security-Token")
	}
}

func scopeOf(authorization string) scope {
	if authorization == "" {
		return scope{}
	}
	_, rest, ok := strings.Cut(authorization, "Credential=")
	if !ok {
		return scope{signed: true, broken: true}
	}
	credential, _, _ := strings.Cut(rest, ",")
	return scopeIn(strings.TrimSpace(credential))
}

// scopeIn reads AccessKey/date/region/service/aws4_request.
func scopeIn(credential string) scope {
	p := strings.Split(credential, "/")
	if len(p) != 5 || p[0] == "" || p[2] == "" || p[4] != "aws4_request" {
		return scope{signed: true, broken: true}
	}
	return scope{signed: true, accessKey: p[0], region: p[2], service: p[3]}
}

func bodyOf(w http.ResponseWriter, r *http.Request) ([]byte, *world.Refusal) {
	if r.Body == nil {
		return nil, nil
	}
	var body io.Reader = r.Body
	if w != nil {
		body = http.MaxBytesReader(w, r.Body, maxBody)
	}
	if strings.EqualFold(r.Header.Get("Content-Encoding"), "gzip") {
		z, err := gzip.NewReader(body)
		if err != nil {
			return nil, serializationError("the body is not gzip")
		}
		body = z
	}
	b, err := io.ReadAll(io.LimitReader(body, maxBody+1))
	var large *http.MaxBytesError
	if len(b) > maxBody || errors.As(err, &large) {
		return nil, &world.Refusal{Code: "RequestEntityTooLargeException", Status: 413,
			Message: "Request body exceeds 4194304 bytes"}
	}
	if err != nil {
		return nil, serializationError("the body ends early")
	}
	return b, nil
}
