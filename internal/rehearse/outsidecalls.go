package rehearse

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/awssim"
)

// CallECS calls ECS as another tool would, and reports whether the answer was a success. During an outage
// that does not mean that the call was done.
func (e *Environment) CallECS(operation string, in map[string]any) bool {
	return e.CallAWS("ecs", "AmazonEC2ContainerServiceV20141113."+operation, in)
}

// CallAWS calls a service's operation by its target, "<prefix of the API>.<operation>".
func (e *Environment) CallAWS(service, target string, in map[string]any) bool {
	_, operation, _ := strings.Cut(target, ".")
	e.externalActs = true
	defer func() { e.externalActs = false }()
	body, err := json.Marshal(in)
	if err != nil {
		e.report.Fail("%s: %v", operation, err)
		return false
	}
	ctx, cancel := e.Clock.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "POST", awssim.Endpoint+"/", bytes.NewReader(body))
	if err != nil {
		e.report.Fail("%s: %v", operation, err)
		return false
	}
	r.Header.Set("Content-Type", "application/x-amz-json-1.1")
	r.Header.Set("X-Amz-Target", target)
	r.Header.Set("Authorization", fmt.Sprintf("AWS4-HMAC-SHA256 Credential=%s/20990101/%s/%s/aws4_request, "+
		"SignedHeaders=host, Signature=0", e.Case.World.Account, e.Case.World.Region, service))
	out, err := e.Sim.HTTPClient().Do(r)
	if err != nil {
		e.report.LogLine("outside: %s: %v", operation, err)
		return false
	}
	defer out.Body.Close()
	if text, _ := io.ReadAll(out.Body); out.StatusCode != http.StatusOK {
		e.report.LogLine("outside: %s: %d %s", operation, out.StatusCode, text)
		if bytes.Contains(text, []byte("UnknownOperation")) {
			e.report.Fail("%s is not an operation", target)
		}
		return false
	}
	return true
}

func (e *Environment) serviceARN() string {
	return e.worldKey().ARN("ecs", "service/"+e.Case.World.Cluster+"/"+e.Case.World.Service)
}
