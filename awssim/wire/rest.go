package wire

import (
	"encoding/json"
	"reflect"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// RawOutput is an output of a REST API whose reply is not JSON.
type RawOutput interface {
	// RawReply returns the body of the reply as it is, its type and its headers.
	RawReply() (contentType string, header map[string]string, body []byte)
}

// routeREST returns the operation of a request to a REST API. The members of its input, which come from path
// and query, become the body.
func (q *request) routeREST(r *preparedAPI) string {
	operation, members := r.Route(q.method, q.path, q.values)
	q.body, _ = json.Marshal(members) // texts by name
	return operation
}

// restReply returns the reply of a REST API for an output.
func (r *preparedAPI) restReply(plan *shape, out reflect.Value) reply {
	if raw, ok := out.Interface().(RawOutput); ok {
		contentType, header, body := raw.RawReply()
		return reply{status: 200, contentType: contentType, body: body, header: header}
	}
	return reply{status: 200, contentType: "application/json", body: plan.appendJSON(nil, out.Elem())}
}

// refusalREST returns the reply of a REST API for a refusal.
func (r *preparedAPI) refusalREST(ref *world.Refusal, code, id string) reply {
	if r.XMLErrors {
		b := append([]byte(xmlHead+"<Error><Code>"), code...)
		b = appendText(append(b, "</Code><Message>"...), ref.Message)
		b = append(append(b, "</Message><RequestId>"...), id...)
		return reply{status: httpStatus(ref), contentType: "application/xml", body: append(b, "</RequestId></Error>"...)}
	}
	side := map[string]string{"Sender": "User", "Receiver": "Service"}[faultSide(ref)]
	b, _ := json.Marshal(map[string]string{"Type": side, "Message": ref.Message})
	return reply{status: httpStatus(ref), contentType: "application/json", body: b,
		header: map[string]string{"X-Amzn-Errortype": code}}
}
