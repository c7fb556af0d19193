package cloudwatchlogs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	awslogs "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	logstypes "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// maxSearched is the number of events that one call searches. A page may therefore be short or
// empty although more events follow, as on AWS.
const maxSearched = 2000

// foundEvent is an event with its stream.
type foundEvent struct {
	world.LogEvent
	stream  string
	sortKey string // orders events of all streams
}

func newFoundEvent(s *world.LogStream, e world.LogEvent) foundEvent {
	return foundEvent{e, s.Name, fmt.Sprintf("%020d %010d %s", e.At.UnixMilli(), e.Seq, s.Name)}
}

// FilterLogEvents searches streams of a group, oldest events first. Patterns consist of terms:
// word, "several words", ?either ?or, -not.
func (s *Service) FilterLogEvents(ctx context.Context,
	in *awslogs.FilterLogEventsInput) (*awslogs.FilterLogEventsOutput, error) {
	if err := checkSearch(in); err != nil {
		return nil, err
	}
	wanted, err := patternOf(val(in.FilterPattern))
	if err != nil {
		return nil, err
	}
	return runStep(ctx, s, func(tx *world.Tx) (*awslogs.FilterLogEventsOutput, error) {
		g, err := groupOf(tx, in.LogGroupName, in.LogGroupIdentifier)
		if err != nil {
			return nil, err
		}
		list, err := searchEvents(tx, g, in)
		if err != nil {
			return nil, err
		}
		return matchPage(list, in, wanted)
	})
}

func checkSearch(in *awslogs.FilterLogEventsInput) error {
	switch {
	case in.LogStreamNamePrefix != nil && len(in.LogStreamNames) > 0:
		return invalidParameter("logStreamNamePrefix and logStreamNames must not both be given.")
	case in.StartFromHead != nil && !*in.StartFromHead:
		return notSimulated("startFromHead false")
	}
	return nil
}

// searchEvents returns the events that a search covers, in order.
func searchEvents(tx *world.Tx, g *world.LogGroup, in *awslogs.FilterLogEventsInput) ([]foundEvent, error) {
	for _, name := range in.LogStreamNames {
		if _, ok := g.Streams.Get(name); !ok {
			return nil, noStream()
		}
	}
	var list []foundEvent
	for _, s := range g.Streams.Values() {
		if !strings.HasPrefix(s.Name, val(in.LogStreamNamePrefix)) || len(in.LogStreamNames) > 0 &&
			!slices.Contains(in.LogStreamNames, s.Name) {
			continue
		}
		for _, e := range s.RetainedEvents(tx.Now()) {
			at := e.At.UnixMilli()
			if (in.StartTime == nil || at >= *in.StartTime) && (in.EndTime == nil || at <= *in.EndTime) {
				list = append(list, newFoundEvent(s, e))
			}
		}
	}
	slices.SortFunc(list, func(a, b foundEvent) int { return cmp.Compare(a.sortKey, b.sortKey) })
	return list, nil
}

// matchPage returns one page of the events that match.
func matchPage(list []foundEvent, in *awslogs.FilterLogEventsInput, wanted pattern) (*awslogs.FilterLogEventsOutput,
	error) {
	out := &awslogs.FilterLogEventsOutput{Events: []logstypes.FilteredLogEvent{},
		SearchedLogStreams: []logstypes.SearchedLogStream{}}
	i, err := resumeIndex(list, in.NextToken)
	if err != nil {
		return nil, err
	}
	most, size := maxEvents, 0
	if in.Limit != nil {
		most = int(*in.Limit)
	}
	for from := i; i < len(list); i++ {
		f := list[i]
		if len(out.Events) >= most || size > maxBatchBytes || i-from >= maxSearched {
			out.NextToken = ptr(searchTokenPrefix + list[i-1].sortKey)
			break
		}
		if wanted.matches(f.Message) {
			size += eventSize(f.Message)
			out.Events = append(out.Events, f.filteredEvent())
		}
	}
	return out, nil
}

func (f foundEvent) filteredEvent() logstypes.FilteredLogEvent {
	return logstypes.FilteredLogEvent{
		EventId: ptr(fmt.Sprintf("%037d%019d", f.At.UnixMilli(), f.Seq)), Timestamp: unixMillis(f.At),
		IngestionTime: unixMillis(f.Ingested),
		LogStreamName: ptr(f.stream), Message: ptr(f.Message),
	}
}

// searchTokenPrefix begins the tokens of searches.
const searchTokenPrefix = "s1 "

func resumeIndex(list []foundEvent, token *string) (int, error) {
	if token == nil {
		return 0, nil
	}
	at, ok := strings.CutPrefix(*token, searchTokenPrefix)
	if !ok {
		return 0, badToken()
	}
	i := 0
	for i < len(list) && list[i].sortKey <= at {
		i++
	}
	return i, nil
}

// pattern holds the terms of a filter pattern.
type pattern struct{ all, any, none []string }

// patternOf parses a filter pattern. It refuses JSON, space-delimited and regular expression
// patterns.
func patternOf(text string) (p pattern, err error) {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") || strings.HasPrefix(text, "%") {
		return p, notSimulated("A filterPattern that begins with { or [ or %")
	}
	for text != "" {
		to := &p.all
		switch text[0] {
		case '?':
			to, text = &p.any, text[1:]
		case '-':
			to, text = &p.none, text[1:]
		}
		term, rest, ok := cutTerm(text)
		if !ok {
			return p, invalidParameter("Invalid filter pattern")
		}
		*to, text = append(*to, term), strings.TrimSpace(rest)
	}
	return p, nil
}

// cutTerm splits the first word or quoted text from the rest.
func cutTerm(text string) (term, rest string, ok bool) {
	if quoted, found := strings.CutPrefix(text, `"`); found {
		return strings.Cut(quoted, `"`)
	}
	i := strings.IndexAny(text, " \t")
	if i < 0 {
		i = len(text)
	}
	return text[:i], text[i:], i > 0
}

// matches reports whether a message has all required terms and no excluded one. A pattern with only
// ?terms needs one of them. AWS ignores ?terms beside others.
func (p pattern) matches(message string) bool {
	has := func(term string) bool { return strings.Contains(message, term) }
	if slices.ContainsFunc(p.none, has) {
		return false
	}
	if len(p.all) == 0 && len(p.any) > 0 {
		return slices.ContainsFunc(p.any, has)
	}
	return !slices.ContainsFunc(p.all, func(term string) bool { return !has(term) })
}
