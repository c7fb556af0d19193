package metrics

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-ecs/sluice"
)

// CloudWatch is the [Source] of any metric of CloudWatch. [ParseQuery] describes its queries. Its
// queries are part of the one call per minute of a [SharedReader].
type CloudWatch struct {
	name   string // of the provider
	reader *SharedReader
}

// NewCloudWatch returns the source of a provider with this name.
func NewCloudWatch(name string, r *SharedReader) *CloudWatch { return &CloudWatch{name, r} }

// Prepare registers a query that is asked for later, so that its first answer does not have to wait
// for the next minute. every is the time between two questions.
func (c *CloudWatch) Prepare(query string, from time.Time, step, every time.Duration) error {
	q, err := c.parseQuery(query, step)
	if err == nil {
		c.reader.Register([]Query{q}, from, every)
	}
	return err
}

// Query returns the points of closed periods in the span. It waits for the next minute if the query
// is new and the account was read in this minute already.
func (c *CloudWatch) Query(ctx context.Context, query string, span Span, step time.Duration) ([]Point, error) {
	q, err := c.parseQuery(query, step)
	if err != nil {
		return nil, err
	}
	span.From = alignUp(span.From, step)
	if span.To.Before(c.reader.clock.Now().Add(-lookBack)) {
		points, err := c.reader.readOnce(ctx, span, q)
		return points.listIn(span, step), c.errorOf(err)
	}
	for {
		got, err := c.reader.Read(ctx, []Query{q}, span.From)
		if err != nil {
			return nil, c.errorOf(err)
		}
		if !got.To.IsZero() {
			return got.Points[0].listIn(span, step), nil
		}
		if err := c.reader.waitForNextMinute(ctx); err != nil {
			return nil, c.errorOf(err)
		}
	}
}

func (c *CloudWatch) parseQuery(query string, step time.Duration) (Query, error) {
	q, err := ParseQuery(query, step)
	if err != nil {
		return q, &sluice.Error{Op: "read query", Resource: c.name, Err: err,
			Next: "correct the query: docs/reference/metrics.md describes the forms"}
	}
	return q, nil
}

// errorOf names the provider in an error.
func (c *CloudWatch) errorOf(err error) error {
	if err == nil {
		return nil
	}
	inner := sluice.Inner(err)
	return &sluice.Error{Op: "query CloudWatch", Resource: c.name, Kind: sluice.KindOf(err), Err: inner,
		Next: sluice.NextStep(err)}
}

// listIn returns the points whose whole period is in the span.
func (p Points) listIn(span Span, step time.Duration) (out []Point) {
	for _, x := range p.list() {
		if !x.At.Before(span.From) && !x.At.Add(step).After(span.To) {
			out = append(out, x)
		}
	}
	return out
}

// checkPeriod returns why CloudWatch has no values of a period.
func checkPeriod(step time.Duration) error {
	if step < minute {
		return fmt.Errorf("an interval of %s is too short: metrics of AWS's services come once a minute", step)
	}
	if step%minute != 0 {
		return errors.New("the interval is not a whole number of minutes")
	}
	return nil
}
