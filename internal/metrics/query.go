package metrics

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscw "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/sluice-ecs/sluice"
)

// Query is one series of CloudWatch: a metric, or an expression over metrics. [Series.Query] and
// [ParseQuery] make one.
type Query struct {
	text   string // identifies the query; and the period
	period time.Duration
	parts  []cwtypes.MetricDataQuery // exactly one of them returns data
	isMath bool                      // CloudWatch parses a part of it
}

// Query returns the query of a series with one value per minute.
func (s Series) Query() Query {
	text := s.Namespace + " " + s.Metric + " " + s.Statistic
	for _, d := range s.Dimensions {
		text += "\x00" + d.Name + "=" + d.Value
	}
	return Query{text: text, period: minute, parts: []cwtypes.MetricDataQuery{s.newQuery("m")}}
}

// key identifies the query among those of a reader.
func (q Query) key() string { return q.text + "\x00" + q.period.String() }

// seriesResult are the points of one query, or why it has none.
type seriesResult struct {
	points map[string]Points // by CloudWatch's label: an expression may find several series
	err    error
}

// onePoints returns the points of a query that found at most one series.
func (r *seriesResult) onePoints() (Points, error) {
	if r.err != nil {
		return nil, r.err
	}
	if n := len(r.points); n > 1 {
		return nil, &sluice.Error{Op: "read metrics",
			Err:  fmt.Errorf("the query has %d series, and a gate needs one", n),
			Next: "reduce them to one with SUM, AVG or MAX, or name all dimensions"}
	}
	for _, p := range r.points {
		return p, nil
	}
	return Points{}, nil
}

// readQueries reads the points of all queries, in their order. One call reads up to 500 parts;
// there are more calls only for more parts, or if CloudWatch returns the answer in pages.
func readQueries(ctx context.Context, api *awscw.Client, span Span, all []Query) ([]seriesResult, error) {
	out := make([]seriesResult, 0, len(all))
	for _, chunk := range chunkQueries(all) {
		results, err := readChunk(ctx, api, span, chunk)
		if err != nil {
			return nil, err
		}
		out = append(out, results...)
	}
	return out, nil
}

// chunkQueries divides queries into those of one call each.
func chunkQueries(all []Query) (chunks [][]Query) {
	parts := maxQueries
	for _, q := range all {
		if parts += len(q.parts); parts > maxQueries {
			chunks, parts = append(chunks, nil), len(q.parts)
		}
		last := len(chunks) - 1
		chunks[last] = append(chunks[last], q)
	}
	return chunks
}

func readChunk(ctx context.Context, api *awscw.Client, span Span, chunk []Query) ([]seriesResult, error) {
	in := &awscw.GetMetricDataInput{StartTime: &span.From, EndTime: &span.To}
	indexes := map[string]int{}
	for i, q := range chunk {
		for _, p := range q.partsWithPrefix(fmt.Sprintf("q%d_", i)) {
			in.MetricDataQueries, indexes[*p.Id] = append(in.MetricDataQueries, p), i
		}
	}
	out := make([]seriesResult, len(chunk))
	for {
		page, err := api.GetMetricData(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("read metrics: %w", sluice.Inner(err))
		}
		for _, r := range page.MetricDataResults {
			if i, ok := indexes[aws.ToString(r.Id)]; ok {
				out[i].addResult(r)
			}
		}
		if in.NextToken = page.NextToken; aws.ToString(in.NextToken) == "" {
			return out, nil
		}
	}
}

func (r *seriesResult) addResult(d cwtypes.MetricDataResult) {
	if err := resultError(d); err != nil {
		r.err = err
		return
	}
	label := aws.ToString(d.Label)
	if r.points == nil {
		r.points = map[string]Points{}
	}
	if r.points[label] == nil {
		r.points[label] = Points{}
	}
	r.points[label].addResult(d)
}

// resultError returns why CloudWatch has no complete answer to one query of a call.
func resultError(d cwtypes.MetricDataResult) error {
	e := &sluice.Error{Op: "read metrics", Resource: aws.ToString(d.Label)}
	switch d.StatusCode {
	case cwtypes.StatusCodeForbidden:
		e.Kind, e.Err = sluice.Denied, errors.New("CloudWatch denies this metric")
		e.Next = "allow cloudwatch:GetMetricData for the account of the metric"
	case cwtypes.StatusCodeInternalError:
		e.Kind, e.Err = sluice.Unreachable, errors.New("CloudWatch has an internal error for this metric")
		e.Next = "wait, sluice reads it again in the next minute"
	default:
		return nil
	}
	return e
}

// identifiers of a metric expression are outside of quoted text.
var (
	quotedText = regexp.MustCompile(`'[^']*'|"[^"]*"`)
	identifier = regexp.MustCompile(`\b[a-z][A-Za-z0-9_]*\b`)
)

// partsWithPrefix returns the parts with a prefix before each ID, so that queries of one call do not
// have the same IDs.
func (q Query) partsWithPrefix(prefix string) []cwtypes.MetricDataQuery {
	var ids []string
	for _, p := range q.parts {
		ids = append(ids, aws.ToString(p.Id))
	}
	out := slices.Clone(q.parts)
	for i, p := range out {
		out[i].Id = aws.String(prefix + aws.ToString(p.Id))
		if p.Expression != nil {
			out[i].Expression = aws.String(prefixIdentifiers(*p.Expression, prefix, ids))
		}
	}
	return out
}

func prefixIdentifiers(expression, prefix string, ids []string) string {
	var b strings.Builder
	rename := func(text string) {
		b.WriteString(identifier.ReplaceAllStringFunc(text, func(id string) string {
			if slices.Contains(ids, id) {
				return prefix + id
			}
			return id
		}))
	}
	end := 0
	for _, quoted := range quotedText.FindAllStringIndex(expression, -1) {
		rename(expression[end:quoted[0]])
		b.WriteString(expression[quoted[0]:quoted[1]])
		end = quoted[1]
	}
	rename(expression[end:])
	return b.String()
}
