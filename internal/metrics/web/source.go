package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"strings"
	"time"

	"github.com/itchyny/gojq"

	"github.com/sluice-ecs/sluice/internal/metrics"
	"github.com/sluice-ecs/sluice/internal/metrics/httpread"
)

// Source reads the queries of one API.
type Source struct {
	reader  httpread.Reader
	address string
	header  http.Header
}

// New returns the source of an API at an address. The reader has the provider's name, HTTP client
// and credentials.
func New(address string, header http.Header, reader httpread.Reader) *Source {
	reader.Op = "query web API"
	return &Source{reader: reader, address: strings.TrimSuffix(address, "/"), header: header}
}

// query is a text of a gate: an expression of jq. Its first line may be a path, which is appended to
// the provider's address.
type query struct {
	path string
	code *gojq.Code
}

// CheckQuery returns why a text is no query; nil if it is one.
func CheckQuery(text string) error {
	_, err := parseQuery(text)
	return err
}

func parseQuery(text string) (q query, err error) {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "//") {
		q.path, text, _ = strings.Cut(text, "\n")
		q.path = strings.TrimSpace(q.path)
	}
	if strings.TrimSpace(text) == "" {
		return q, errors.New("the query has no expression of jq, as in .errors / .requests")
	}
	parsed, err := gojq.Parse(text)
	if err == nil {
		q.code, err = gojq.Compile(parsed)
	}
	if err != nil {
		return q, fmt.Errorf("the query is no expression of jq: %w", err)
	}
	return q, nil
}

// Query requests the API and returns the value of the expression as one point, at the begin of the
// last step of the span. true is 1 and false is 0; null and no result are no point.
func (s *Source) Query(ctx context.Context, text string, span metrics.Span, step time.Duration) ([]metrics.Point,
	error) {
	q, err := parseQuery(text)
	if err != nil {
		return nil, s.reader.WrongQuery(errors.New(s.reader.Mask(err.Error())), "correct the query")
	}
	got, err := s.reader.Read(ctx, http.MethodGet, s.address+q.path, s.header, "")
	if err != nil {
		return nil, err
	}
	if got.Status/100 != 2 {
		return nil, s.reader.StatusError(s.address, got, "")
	}
	var body any
	if err := json.Unmarshal(got.Body, &body); err != nil {
		return nil, s.reader.NotJSON(s.address, got, err)
	}
	value, ok, err := s.evaluate(ctx, q.code, body)
	if err != nil || !ok {
		return nil, err
	}
	at := span.To.Add(-step)
	return metrics.SortPoints([]metrics.Point{{At: at, Value: value}}, metrics.Span{From: at, To: span.To}), nil
}

// evaluate returns the one value of the expression; ok is false if it has none.
func (s *Source) evaluate(ctx context.Context, code *gojq.Code, body any) (value float64, ok bool, err error) {
	results := code.RunWithContext(ctx, body)
	for n := 0; ; n++ {
		got, more := results.Next()
		if !more {
			return value, ok, nil
		}
		if failed, is := got.(error); is {
			return 0, false, s.evaluationError(ctx, failed)
		}
		if n > 0 {
			return 0, false, s.reader.WrongQuery(errors.New("the query has several results, and a gate needs one"),
				"reduce them to one, as in [.[].errors] | add")
		}
		if value, ok, err = numberOf(got); err != nil {
			return 0, false, s.reader.WrongQuery(err, "correct the query, as in .errors | tonumber")
		}
	}
}

func (s *Source) evaluationError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return s.reader.StoppedError(ctx, s.address)
	}
	return s.reader.WrongQuery(errors.New(s.reader.Mask(err.Error())), "correct the query, or the API's response")
}

// numberOf returns a result of jq as a number.
func numberOf(result any) (value float64, ok bool, err error) {
	switch v := result.(type) {
	case nil:
		return 0, false, nil
	case bool:
		if v {
			return 1, true, nil
		}
		return 0, true, nil
	case int:
		return float64(v), true, nil
	case float64:
		return v, true, nil
	case *big.Int:
		value, _ = new(big.Float).SetInt(v).Float64()
		return value, true, nil
	case string:
		return 0, false, errors.New("the query is a string, and a gate needs a number or a boolean")
	}
	return 0, false, errors.New("the query is a list or an object, and a gate needs a number or a boolean")
}
