package prometheus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/internal/metrics"
	"github.com/sluice-ecs/sluice/internal/metrics/httpread"
)

// maxURL is how long a URL may be. Longer queries are sent in the body.
const maxURL = 2000

// Source reads the queries of one Prometheus server.
type Source struct {
	reader  httpread.Reader
	address string // without a slash at its end
}

// New returns the source of a server at an address, as in http://prometheus:9090. The reader has the
// provider's name, HTTP client and credentials.
func New(address string, reader httpread.Reader) *Source {
	reader.Op = "query Prometheus"
	return &Source{reader: reader, address: strings.TrimSuffix(address, "/")}
}

// Query returns the values of a PromQL query, by the begin of their step. Prometheus evaluates a
// query at the end of each step, so that increase(…[1m]) with a step of a minute covers the step. A
// span that is shorter than a step has one value, from the end of the span.
func (s *Source) Query(ctx context.Context, query string, span metrics.Span, step time.Duration) ([]metrics.Point,
	error) {
	path, form := "/api/v1/query", url.Values{"query": {query}}
	if span.To.Sub(span.From) <= step {
		span.From = span.To.Add(-step)
		form.Set("time", formatTime(span.To))
	} else {
		path = "/api/v1/query_range"
		form.Set("start", formatTime(span.From.Add(step)))
		form.Set("end", formatTime(span.To))
		form.Set("step", strconv.FormatFloat(step.Seconds(), 'f', -1, 64))
	}
	body, err := s.send(ctx, path, form)
	if err != nil {
		return nil, err
	}
	points, err := s.readBody(body)
	for i := range points {
		points[i].At = points[i].At.Add(-step)
	}
	return metrics.SortPoints(points, span), err
}

func formatTime(t time.Time) string {
	return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', -1, 64)
}

// send sends a query: in the URL, or in the body if the URL would be too long.
func (s *Source) send(ctx context.Context, path string, form url.Values) (*httpread.Response, error) {
	method, address, header, body := http.MethodGet, s.address+path, http.Header{"Accept": {"application/json"}}, ""
	if encoded := form.Encode(); len(address)+len(encoded) <= maxURL {
		address += "?" + encoded
	} else {
		method, body = http.MethodPost, encoded
		header["Content-Type"] = []string{"application/x-www-form-urlencoded"}
	}
	return s.reader.Read(ctx, method, address, header, body)
}

// answer is the envelope of every response.
type answer struct {
	Status    string `json:"status"`
	ErrorType string `json:"errorType"`
	Error     string `json:"error"`
	Data      struct {
		ResultType string          `json:"resultType"`
		Result     json.RawMessage `json:"result"`
	} `json:"data"`
}

// series is one series of a vector or of a matrix.
type series struct {
	Value      *sample         `json:"value"`
	Values     []sample        `json:"values"`
	Histogram  json.RawMessage `json:"histogram"`
	Histograms json.RawMessage `json:"histograms"`
}

func (s *Source) readBody(got *httpread.Response) ([]metrics.Point, error) {
	var a answer
	err := json.Unmarshal(got.Body, &a)
	switch {
	case got.Status/100 != 2 && err == nil:
		return nil, s.reader.StatusError(s.address, got, a.Error)
	case got.Status/100 != 2:
		return nil, s.reader.StatusError(s.address, got, "")
	case err != nil:
		return nil, s.reader.NotJSON(s.address, got, err)
	case a.Status == "error":
		return nil, s.reader.WrongQuery(fmt.Errorf("%s: %s", s.reader.Mask(a.ErrorType), s.reader.Mask(a.Error)),
			"correct the query")
	case a.Status != "success":
		return nil, s.reader.NotJSON(s.address, got, errors.New("it has no status"))
	}
	points, err := s.readResult(a.Data.ResultType, a.Data.Result)
	if errors.Is(err, errResult) {
		return nil, s.reader.NotJSON(s.address, got, err)
	}
	return points, err
}

// errResult is a result that does not have the shape of its type.
var errResult = errors.New("the result does not have the shape of its type")

func (s *Source) readResult(kind string, result json.RawMessage) ([]metrics.Point, error) {
	switch kind {
	case "scalar":
		var one sample
		if json.Unmarshal(result, &one) != nil {
			return nil, errResult
		}
		return []metrics.Point{one.point()}, nil
	case "vector", "matrix":
		var all []series
		if json.Unmarshal(result, &all) != nil {
			return nil, errResult
		}
		return s.pointsOf(all)
	case "string":
		return nil, s.reader.WrongQuery(errors.New("the query is a string, and a gate needs a number"),
			"correct the query")
	}
	return nil, errResult
}

// pointsOf returns the points of the one series that a query may have.
func (s *Source) pointsOf(all []series) (out []metrics.Point, err error) {
	switch {
	case len(all) > 1:
		return nil, s.reader.SeriesError(len(all), "sum(…), avg(…) or max(…)")
	case len(all) == 0:
		return nil, nil
	case all[0].Histogram != nil || all[0].Histograms != nil:
		return nil, s.reader.WrongQuery(errors.New("the query is a histogram, and a gate needs a number"),
			"use histogram_quantile, histogram_count or histogram_fraction")
	}
	values := all[0].Values
	if all[0].Value != nil {
		values = append(values, *all[0].Value)
	}
	for _, v := range values {
		out = append(out, v.point())
	}
	return out, nil
}
