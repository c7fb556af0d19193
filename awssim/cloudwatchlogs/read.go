package cloudwatchlogs

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	awslogs "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	logstypes "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// streamPosition is a position between two events of a stream: before the event with that time and
// number, or where it would be.
type streamPosition struct{ at, seq int64 }

// isAfter reports whether the position is after an event.
func (p streamPosition) isAfter(e world.LogEvent) bool {
	at := e.At.UnixMilli()
	return at < p.at || at == p.at && int64(e.Seq) < p.seq
}

// tokenFor returns the position in the form of AWS's tokens, "f/<56 digits>/s" forward and "b/…"
// backward.
func (p streamPosition) tokenFor(direction string) *string {
	return ptr(fmt.Sprintf("%s/%037d%019d/s", direction, p.at, p.seq))
}

func parseToken(token string) (p streamPosition, forward bool, err error) {
	part := strings.Split(token, "/")
	if len(part) != 3 || part[0] != "f" && part[0] != "b" || len(part[1]) != 56 || part[2] != "s" {
		return p, false, badToken()
	}
	at, err1 := strconv.ParseUint(part[1][:37], 10, 62)
	seq, err2 := strconv.ParseUint(part[1][37:], 10, 62)
	if err1 != nil || err2 != nil {
		return p, false, badToken()
	}
	return streamPosition{int64(at), int64(seq)}, part[0] == "f", nil
}

func badToken() error { return invalidParameter("The specified nextToken is invalid.") }

// GetLogEvents reads a stream: the newest events, or from its head, then from the tokens, which
// stay the same at the end. A page is full here; on AWS it may be short or empty although more
// events follow.
func (s *Service) GetLogEvents(ctx context.Context, in *awslogs.GetLogEventsInput) (*awslogs.GetLogEventsOutput,
	error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awslogs.GetLogEventsOutput, error) {
		g, err := groupOf(tx, in.LogGroupName, in.LogGroupIdentifier)
		if err != nil {
			return nil, err
		}
		stream, err := streamNamed(g, in.LogStreamName)
		if err != nil {
			return nil, err
		}
		events := eventsBetween(stream.RetainedEvents(tx.Now()), in.StartTime, in.EndTime)
		p := pageRequest{head: val(in.StartFromHead), most: maxEvents}
		if in.Limit != nil {
			p.most = int(*in.Limit)
		}
		return p.readPage(events, in.NextToken)
	})
}

// eventsBetween returns the events from the time start, to before the time end.
func eventsBetween(events []world.LogEvent, start, end *int64) []world.LogEvent {
	from, to := 0, len(events)
	for start != nil && from < to && events[from].At.UnixMilli() < *start {
		from++
	}
	for end != nil && to > from && events[to-1].At.UnixMilli() >= *end {
		to--
	}
	return events[from:to]
}

// pageRequest holds the parameters of one page.
type pageRequest struct {
	head bool
	most int
}

func (r pageRequest) readPage(events []world.LogEvent, token *string) (*awslogs.GetLogEventsOutput, error) {
	if token == nil {
		cut := len(events)
		if r.head {
			cut = 0
		}
		return pageOutput(r.takeEvents(events, cut, r.head), streamPosition{}), nil
	}
	p, forward, err := parseToken(*token)
	if err != nil {
		return nil, err
	}
	cut := 0
	for cut < len(events) && p.isAfter(events[cut]) {
		cut++
	}
	return pageOutput(r.takeEvents(events, cut, forward), p), nil
}

// takeEvents returns the events of one page, forward from a position or backward to it.
func (r pageRequest) takeEvents(events []world.LogEvent, at int, forward bool) []world.LogEvent {
	from, to := at, at
	for size := 0; to-from < r.most; {
		next := to
		if !forward {
			next = from - 1
		}
		if next < 0 || next >= len(events) {
			break
		}
		if size += eventSize(events[next].Message); size > maxBatchBytes && to > from {
			break
		}
		from, to = min(from, next), max(to, next+1)
	}
	return events[from:to]
}

// pageOutput returns the output of a page. An empty page leaves both tokens at its position.
func pageOutput(events []world.LogEvent, stands streamPosition) *awslogs.GetLogEventsOutput {
	out := &awslogs.GetLogEventsOutput{Events: []logstypes.OutputLogEvent{}}
	first, last := stands, stands
	for i, e := range events {
		if i == 0 {
			first = streamPosition{e.At.UnixMilli(), int64(e.Seq)}
		}
		last = streamPosition{e.At.UnixMilli(), int64(e.Seq) + 1}
		out.Events = append(out.Events, logstypes.OutputLogEvent{Timestamp: unixMillis(e.At),
			IngestionTime: unixMillis(e.Ingested), Message: ptr(e.Message)})
	}
	out.NextBackwardToken, out.NextForwardToken = first.tokenFor("b"), last.tokenFor("f")
	return out
}
