package cloudwatchlogs

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	awslogs "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	logstypes "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"

	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// CreateLogStream creates an empty stream.
func (s *Service) CreateLogStream(ctx context.Context,
	in *awslogs.CreateLogStreamInput) (*awslogs.CreateLogStreamOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awslogs.CreateLogStreamOutput, error) {
		g, err := groupNamed(tx, in.LogGroupName)
		if err != nil {
			return nil, err
		}
		if _, ok := g.Streams.Get(*in.LogStreamName); ok {
			return nil, world.Refuse("ResourceAlreadyExistsException", "The specified log stream already exists")
		}
		tx.AddLogStream(g, *in.LogStreamName)
		return nil, nil
	})
}

// DeleteLogStream deletes a stream with its events. Later output of its container creates the
// stream again.
func (s *Service) DeleteLogStream(ctx context.Context,
	in *awslogs.DeleteLogStreamInput) (*awslogs.DeleteLogStreamOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awslogs.DeleteLogStreamOutput, error) {
		g, err := groupNamed(tx, in.LogGroupName)
		if err != nil {
			return nil, err
		}
		stream, err := streamNamed(g, in.LogStreamName)
		if err == nil {
			g.Streams.Delete(stream.Name)
		}
		return nil, err
	})
}

// DescribeLogStreams lists a group's streams, by name or by the time of their last event. That time
// is current here; on AWS it lags by up to an hour.
func (s *Service) DescribeLogStreams(ctx context.Context,
	in *awslogs.DescribeLogStreamsInput) (*awslogs.DescribeLogStreamsOutput, error) {
	if in.OrderBy == logstypes.OrderByLastEventTime && in.LogStreamNamePrefix != nil {
		return nil, invalidParameter("Cannot order by LastEventTime with a logStreamNamePrefix.")
	}
	return runStep(ctx, s, func(tx *world.Tx) (*awslogs.DescribeLogStreamsOutput, error) {
		g, err := groupOf(tx, in.LogGroupName, in.LogGroupIdentifier)
		if err != nil {
			return nil, err
		}
		page, next, err := wire.Page(selectStreams(tx, g, in), in.NextToken, int(val(in.Limit)), 50, 50,
			func(s *world.LogStream) string { return s.Name })
		if err != nil {
			return nil, invalidParameter("The specified nextToken is invalid.")
		}
		out := &awslogs.DescribeLogStreamsOutput{LogStreams: []logstypes.LogStream{}, NextToken: next}
		for _, x := range page {
			out.LogStreams = append(out.LogStreams, showStream(tx, x))
		}
		return out, nil
	})
}

func selectStreams(tx *world.Tx, g *world.LogGroup, in *awslogs.DescribeLogStreamsInput) []*world.LogStream {
	list := slices.DeleteFunc(g.Streams.Values(), func(s *world.LogStream) bool {
		return !strings.HasPrefix(s.Name, val(in.LogStreamNamePrefix))
	})
	slices.SortFunc(list, func(a, b *world.LogStream) int {
		byTime := 0
		if in.OrderBy == logstypes.OrderByLastEventTime {
			byTime = lastEventTime(tx, a).Compare(lastEventTime(tx, b))
		}
		return cmp.Or(byTime, strings.Compare(a.Name, b.Name))
	})
	if val(in.Descending) {
		slices.Reverse(list)
	}
	return list
}

// lastEventTime returns the time of a stream's last event, or zero.
func lastEventTime(tx *world.Tx, s *world.LogStream) time.Time {
	if events := s.RetainedEvents(tx.Now()); len(events) > 0 {
		return events[len(events)-1].At
	}
	return time.Time{}
}

func showStream(tx *world.Tx, s *world.LogStream) logstypes.LogStream {
	shown := logstypes.LogStream{
		Arn: ptr(s.ARN), LogStreamName: ptr(s.Name), CreationTime: unixMillis(s.CreatedAt),
		LastIngestionTime: unixMillis(s.Ingested),
		StoredBytes:       ptr(int64(0)), UploadSequenceToken: ptr(sequenceToken),
	}
	if events := s.RetainedEvents(tx.Now()); len(events) > 0 {
		shown.FirstEventTimestamp, shown.LastEventTimestamp = unixMillis(events[0].At),
			unixMillis(events[len(events)-1].At)
	}
	return shown
}
