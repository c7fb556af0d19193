package check

import (
	"context"
	"fmt"
	"net/http"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/analysis"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/metrics/httpread"
	"github.com/sluice-ecs/sluice/internal/secret"
)

// Request sends the request of a check with the values of its headers: the `https` of PipeCD's ANALYSIS stage. A request
// without a response fails the check: the service under test does not answer. ctx limits its time. A redirect on the host is
// followed; a redirect to another host is the response, because the headers may have credentials.
func Request(ctx context.Context, client *http.Client, c appfile.HTTPCheck, header http.Header) (analysis.Check, error) {
	reader := httpread.Reader{Op: "check", Name: secret.URL(c.URL), Client: client, ReturnsRedirects: true}
	got, err := reader.Read(ctx, c.Method, c.URL, header, "")
	switch {
	case err == nil:
		return judge(c, reader, got), nil
	case sluice.KindOf(err) == sluice.Unreachable:
		return analysis.Check{Failed: err.Error()}, nil
	}
	return analysis.Check{}, err
}

func judge(c appfile.HTTPCheck, reader httpread.Reader, got *httpread.Response) analysis.Check {
	text := fmt.Sprintf("%s: HTTP %d", reader.Name, got.Status)
	switch {
	case got.Status != c.Code:
		return analysis.Check{Failed: fmt.Sprintf("%s, expected %d", text, c.Code)}
	case c.Response != "" && string(got.Body) != c.Response:
		return analysis.Check{Failed: fmt.Sprintf("%s with %q, expected %q", text, reader.Mask(string(got.Body)),
			reader.Mask(c.Response))}
	}
	return analysis.Check{Passed: true}
}
