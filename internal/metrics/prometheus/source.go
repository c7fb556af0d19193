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

// Query returns the values of a PromQL query with at most one series, see [Source.QuerySeries].
func (s *Source) Query(ctx context.Context, query string, span metrics.Span, step time.Duration) ([]metrics.Point,
	error) {
	all, grid, err := s.query(ctx, query, span, step)
	switch {
	case err != nil:
		return nil, err
	case len(all) > 1:
		return nil, s.reader.SeriesError(len(all), "sum(…), avg(…) or max(…)")
	case len(all) == 0:
		return nil, nil
	}
	return grid.pointsOf(all[0]), nil
}

// QuerySeries returns the values of each series of a PromQL query, by the begin of their step.
// Prometheus evaluates a query at the end of each step, so that increase(…[1m]) with a step of a
// minute covers the step. A span that is shorter than a step has one value, from the end of the span.
func (s *Source) QuerySeries(ctx context.Context, query string, span metrics.Span,
	step time.Duration) (out [][]metrics.Point, err error) {
	all, grid, err := s.query(ctx, query, span, step)
	for _, samples := range all {
		points := grid.pointsOf(samples)
		if len(points) == 0 {
			points = metrics.NoData(span)
		}
		out = append(out, points)
	}
	return out, err
}

// query returns the samples of each series, and the times that were asked for.
func (s *Source) query(ctx context.Context, query string, span metrics.Span, step time.Duration) ([][]sample, grid,
	error) {
	g := newGrid(span, step)
	got, err := s.send(ctx, url.Values{"query": {query}, "start": {formatTime(g.timeOf(1))},
		"end": {formatTime(g.timeOf(g.steps))}, "step": {strconv.FormatFloat(g.step.Seconds(), 'f', -1, 64)}})
	if err != nil {
		return nil, g, err
	}
	all, err := s.readBody(got)
	return all, g, err
}

// send sends a query of a range: in the URL, or in the body if the URL would be too long.
func (s *Source) send(ctx context.Context, form url.Values) (*httpread.Response, error) {
	method, address, header, body := http.MethodGet, s.address+"/api/v1/query_range",
		http.Header{"Accept": {"application/json"}}, ""
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

func (s *Source) readBody(got *httpread.Response) ([][]sample, error) {
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
	samples, err := s.readResult(a.Data.ResultType, a.Data.Result)
	if errors.Is(err, errResult) {
		return nil, s.reader.NotJSON(s.address, got, err)
	}
	return samples, err
}

// errResult is a result that does not have the shape of its type.
var errResult = errors.New("the result does not have the shape of its type")

// readResult returns the samples of each series. Prometheus answers a range with a matrix. A vector
// without series is one series without values, as PipeCD has it.
func (s *Source) readResult(kind string, result json.RawMessage) ([][]sample, error) {
	switch kind {
	case "scalar":
		var one sample
		if json.Unmarshal(result, &one) != nil {
			return nil, errResult
		}
		return [][]sample{{one}}, nil
	case "vector", "matrix":
		var all []series
		if json.Unmarshal(result, &all) != nil {
			return nil, errResult
		}
		if kind == "vector" && len(all) == 0 {
			all = []series{{}}
		}
		return s.samplesOf(all)
	case "string":
		return nil, s.reader.WrongQuery(errors.New("the query is a string, and a gate needs a number"),
			"correct the query")
	}
	return nil, errResult
}

// samplesOf returns the samples of each series.
func (s *Source) samplesOf(all []series) (out [][]sample, err error) {
	for _, one := range all {
		if one.Histogram != nil || one.Histograms != nil {
			return nil, s.reader.WrongQuery(errors.New("the query is a histogram, and a gate needs a number"),
				"use histogram_quantile, histogram_count or histogram_fraction")
		}
		samples := one.Values
		if one.Value != nil {
			samples = append(samples, *one.Value)
		}
		out = append(out, samples)
	}
	return out, nil
}
