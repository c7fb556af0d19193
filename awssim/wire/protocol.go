package wire

import (
	"net/http"
	"strings"
)

// json reports whether a protocol carries JSON under X-Amz-Target.
func (p Protocol) json() bool { return p == JSON11 || p == JSON10 }

func (p Protocol) jsonType() string {
	if p == JSON10 {
		return "application/x-amz-json-1.0"
	}
	return jsonType
}

// signing is the service's name in signatures.
func (r *room) signing() string {
	if r.Signing != "" {
		return r.Signing
	}
	return r.Name
}

// compatible reports whether the service once spoke query alone, so that its
// clients still expect the codes of that time.
func (r *room) compatible() bool { return r.QueryCodes != nil }

// variants are the room in its other protocols. They share its operations.
func (r *room) variants() []*room {
	var also []*room
	for _, p := range r.Also {
		if p == EC2Query || r.Protocol == EC2Query {
			panic("wire: room " + r.Name + ": EC2Query cannot be one of several protocols")
		}
		v := *r
		v.Protocol = p
		also = append(also, &v)
	}
	return also
}

// speaking is the room in the protocol of a request; in its first one if the
// request speaks none of the room's.
func (r *room) speaking(q *request) *room {
	if q.speaks(r.Protocol) {
		return r
	}
	for _, v := range r.also {
		if q.speaks(v.Protocol) {
			return v
		}
	}
	return r
}

func (q *request) speaks(p Protocol) bool {
	switch {
	case q.rpc != nil:
		return p == CBOR
	case q.target != "":
		return p.json()
	}
	return p == Query || p == EC2Query
}

const (
	cborType  = "application/cbor"
	rpcHeader = "Smithy-Protocol"
	rpcCBOR   = "rpc-v2-cbor"
)

// rpcPath is what the path of an RPC v2 request says:
// /service/GraniteServiceVersion20100801/operation/DescribeAlarms, with anything
// before it.
type rpcPath struct{ service, operation string }

// rpcPathOf is nil for a request in another protocol.
func rpcPathOf(r *http.Request) *rpcPath {
	if r.Header.Get(rpcHeader) != rpcCBOR {
		return nil
	}
	words := strings.Split(r.URL.Path, "/")
	n := len(words)
	if n < 5 || words[n-4] != "service" || words[n-2] != "operation" {
		return &rpcPath{}
	}
	return &rpcPath{service: words[n-3], operation: words[n-1]}
}

// operationOf is the operation, or what cannot be one where the request is not
// for that room or not in this protocol at all.
func (p *rpcPath) operationOf(r *room) string {
	switch {
	case p == nil:
		return ""
	case p.service != r.Target:
		return p.service + "." + p.operation
	}
	return p.operation
}
