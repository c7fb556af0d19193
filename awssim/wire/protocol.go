package wire

import (
	"net/http"
	"strings"
)

// isJSON reports whether a protocol carries JSON under X-Amz-Target.
func (p Protocol) isJSON() bool { return p == JSON11 || p == JSON10 }

func (p Protocol) jsonType() string {
	if p == JSON10 {
		return "application/x-amz-json-1.0"
	}
	return jsonType
}

// signingName returns the service's name in signatures.
func (r *preparedAPI) signingName() string {
	if r.Signing != "" {
		return r.Signing
	}
	return r.Name
}

// isQueryCompatible reports whether the service once had the query protocol only, so that its
// clients still expect the error codes of that time.
func (r *preparedAPI) isQueryCompatible() bool { return r.QueryCodes != nil }

// protocolVariants returns the API in its other protocols. They share its operations.
func (r *preparedAPI) protocolVariants() []*preparedAPI {
	var also []*preparedAPI
	for _, p := range r.Also {
		if p == EC2Query || r.Protocol == EC2Query {
			panic("wire: API " + r.Name + ": EC2Query cannot be one of several protocols")
		}
		v := *r
		v.Protocol = p
		also = append(also, &v)
	}
	return also
}

// variantFor returns the API in the protocol of a request, or in its first protocol if the API does
// not have the request's.
func (r *preparedAPI) variantFor(q *request) *preparedAPI {
	if q.usesProtocol(r.Protocol) {
		return r
	}
	for _, v := range r.otherProtocols {
		if q.usesProtocol(v.Protocol) {
			return v
		}
	}
	return r
}

func (q *request) usesProtocol(p Protocol) bool {
	switch {
	case q.rpc != nil:
		return p == CBOR
	case q.target != "":
		return p.isJSON()
	}
	return p == Query || p == EC2Query
}

const (
	cborType  = "application/cbor"
	rpcHeader = "Smithy-Protocol"
	rpcCBOR   = "rpc-v2-cbor"
)

// rpcPath is the parsed path of an RPC v2 request:
// /service/GraniteServiceVersion20100801/operation/DescribeAlarms, after any prefix.
type rpcPath struct{ service, operation string }

// rpcPathOf returns nil for a request in another protocol.
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

// operationOf returns the operation. For a request to another API or in another protocol it returns
// a name that no operation has.
func (p *rpcPath) operationOf(r *preparedAPI) string {
	switch {
	case p == nil:
		return ""
	case p.service != r.Target:
		return p.service + "." + p.operation
	}
	return p.operation
}
