package datadog

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/internal/metrics"
	"github.com/sluice-ecs/sluice/internal/metrics/httpread"
)

// Keys are the credentials of Datadog's API.
type Keys struct{ API, Application string }

// Source reads the queries of one Datadog account.
type Source struct {
	reader  httpread.Reader
	address string
	header  http.Header
}

// New returns the source of an account at an address of the API, see [Address]. The reader has the
// provider's name and HTTP client.
func New(address string, keys Keys, reader httpread.Reader) *Source {
	reader.Op = "query Datadog"
	reader.Secrets = append(reader.Secrets, keys.API, keys.Application)
	return &Source{reader: reader, address: address, header: http.Header{"Accept": {"application/json"},
		"Dd-Api-Key": {keys.API}, "Dd-Application-Key": {keys.Application}}}
}

// Query returns the values of a query with at most one series, see [Source.QuerySeries].
func (s *Source) Query(ctx context.Context, query string, span metrics.Span, step time.Duration) ([]metrics.Point,
	error) {
	all, err := s.query(ctx, query, span)
	switch {
	case err != nil:
		return nil, err
	case len(all) > 1:
		return nil, s.reader.SeriesError(len(all), "sum: or avg: before the metric, and without by {…}")
	case len(all) == 0:
		return nil, nil
	}
	return joinPoints(metrics.SortPoints(all[0], span), span.From, step, isCount(query)), nil
}

// QuerySeries returns the values of each series of a query. Datadog chooses the interval of the points,
// unless the query has a rollup. Points that are finer than a step are joined: their sum for counts,
// their average otherwise.
func (s *Source) QuerySeries(ctx context.Context, query string, span metrics.Span,
	step time.Duration) (out [][]metrics.Point, err error) {
	all, err := s.query(ctx, query, span)
	for _, points := range all {
		joined := joinPoints(metrics.SortPoints(points, span), span.From, step, isCount(query))
		if len(joined) == 0 {
			joined = metrics.NoData(span)
		}
		out = append(out, joined)
	}
	return out, err
}

// query returns the points of each series. Datadog takes whole seconds: those that contain the span.
func (s *Source) query(ctx context.Context, query string, span metrics.Span) ([][]metrics.Point, error) {
	to := span.To.Add(time.Second - 1)
	form := url.Values{"query": {query}, "from": {strconv.FormatInt(span.From.Unix(), 10)},
		"to": {strconv.FormatInt(to.Unix(), 10)}}
	got, err := s.reader.Read(ctx, http.MethodGet, s.address+"/api/v1/query?"+form.Encode(), s.header, "")
	if err != nil {
		return nil, err
	}
	return s.readBody(got)
}

// answer is a response of the API: of a query, or of a refusal.
type answer struct {
	Status string   `json:"status"`
	Error  string   `json:"error"`
	Errors []string `json:"errors"`
	Series *[]struct {
		Points [][]*float64 `json:"pointlist"`
	} `json:"series"`
}

func (s *Source) readBody(got *httpread.Response) (out [][]metrics.Point, err error) {
	var a answer
	err = json.Unmarshal(got.Body, &a)
	switch {
	case got.Status/100 != 2 && err == nil:
		return nil, s.reader.StatusError(s.address, got, strings.Join(append(a.Errors, a.Error), " "))
	case got.Status/100 != 2:
		return nil, s.reader.StatusError(s.address, got, "")
	case err != nil:
		return nil, s.reader.NotJSON(s.address, got, err)
	case a.Status == "error" || a.Error != "":
		return nil, s.reader.WrongQuery(errors.New(s.reader.Mask(a.Error)), "correct the query")
	case a.Series == nil:
		return nil, s.reader.NotJSON(s.address, got, errors.New("it has no series"))
	}
	for _, one := range *a.Series {
		points, ok := pointsOf(one.Points)
		if !ok {
			return nil, s.reader.NotJSON(s.address, got, errors.New("a point is not a time and a value"))
		}
		out = append(out, points)
	}
	return out, nil
}

// pointsOf returns points of pairs: milliseconds, and a value or null for a gap.
func pointsOf(all [][]*float64) (out []metrics.Point, ok bool) {
	for _, pair := range all {
		if len(pair) != 2 || pair[0] == nil {
			return nil, false
		}
		if pair[1] != nil {
			out = append(out, metrics.Point{At: time.UnixMilli(int64(*pair[0])).UTC(), Value: *pair[1]})
		}
	}
	return out, true
}

// isCount reports whether the values of a query are counts, so that a step has their sum.
func isCount(query string) bool {
	query = strings.ReplaceAll(query, " ", "")
	return strings.Contains(query, ".as_count()") || strings.Contains(query, ".rollup(sum") ||
		strings.Contains(query, ".rollup(count")
}

// joinPoints returns at most one point per step. Steps begin at from. A point that is alone in its
// step keeps its time.
func joinPoints(all []metrics.Point, from time.Time, step time.Duration, isCount bool) (out []metrics.Point) {
	for i := 0; i < len(all); {
		begin := from.Add(all[i].At.Sub(from).Truncate(step))
		sum, n := 0.0, 0
		for ; i+n < len(all) && all[i+n].At.Before(begin.Add(step)); n++ {
			sum += all[i+n].Value
		}
		joined := metrics.Point{At: begin, Value: sum}
		if !isCount {
			joined.Value = sum / float64(n)
		}
		if n == 1 {
			joined = all[i]
		}
		out, i = append(out, joined), i+n
	}
	return out
}
