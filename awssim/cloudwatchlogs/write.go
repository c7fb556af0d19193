package cloudwatchlogs

import (
	"context"
	"time"

	awslogs "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	logstypes "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

const (
	maxEvents     = 10_000  // of a batch, and of a page
	maxBatchBytes = 1 << 20 // bytes, each event with its overhead
	eventOverhead = 26      // bytes
	// sequenceToken is a token that AWS still returns although it no longer reads it.
	sequenceToken = "49039859627183640528456138465734"
)

func eventSize(message string) int { return len(message) + eventOverhead }

// PutLogEvents adds events to a stream. They must be in the order of their times. Events that are
// too old or too new are left out and reported.
func (s *Service) PutLogEvents(ctx context.Context, in *awslogs.PutLogEventsInput) (*awslogs.PutLogEventsOutput,
	error) {
	if err := checkBatch(in.LogEvents); err != nil {
		return nil, err
	}
	return runStep(ctx, s, func(tx *world.Tx) (*awslogs.PutLogEventsOutput, error) {
		g, err := groupNamed(tx, in.LogGroupName)
		if err != nil {
			return nil, err
		}
		stream, err := streamNamed(g, in.LogStreamName)
		if err != nil {
			return nil, err
		}
		from, to, info := acceptedRange(tx.Now(), g.RetentionDays, in.LogEvents)
		for _, e := range in.LogEvents[from:to] {
			tx.WriteEvent(stream, time.UnixMilli(*e.Timestamp), *e.Message)
		}
		return &awslogs.PutLogEventsOutput{NextSequenceToken: ptr(sequenceToken), RejectedLogEventsInfo: info}, nil
	})
}

func checkBatch(events []logstypes.InputLogEvent) error {
	size, last := 0, int64(0)
	for i, e := range events {
		if i > 0 && *e.Timestamp < last {
			return invalidParameter("Log events in a single PutLogEvents request must be in chronological order.")
		}
		size, last = size+eventSize(*e.Message), *e.Timestamp
	}
	switch {
	case size > maxBatchBytes:
		return invalidParameter("Upload too large: %d bytes exceeds limit of %d", size, maxBatchBytes)
	case last-*events[0].Timestamp > 24*time.Hour.Milliseconds():
		return invalidParameter(
			"The batch of log events in a single PutLogEvents request cannot span more than 24 hours.")
	}
	return nil
}

// acceptedRange returns the events [from, to) that are neither older than 14 days or the group's
// retention, nor more than two hours in the future.
func acceptedRange(now time.Time, days int, events []logstypes.InputLogEvent) (from, to int,
	info *logstypes.RejectedLogEventsInfo) {
	old, new := now.AddDate(0, 0, -14).UnixMilli(), now.Add(2*time.Hour).UnixMilli()
	expired := old
	if days > 0 {
		expired = max(old, now.AddDate(0, 0, -days).UnixMilli())
	}
	tooOld := 0
	for tooOld < len(events) && *events[tooOld].Timestamp < old {
		tooOld++
	}
	for from = tooOld; from < len(events) && *events[from].Timestamp < expired; {
		from++
	}
	for to = len(events); to > from && *events[to-1].Timestamp > new; {
		to--
	}
	if from == 0 && to == len(events) {
		return from, to, nil
	}
	info = &logstypes.RejectedLogEventsInfo{}
	if tooOld > 0 {
		info.TooOldLogEventEndIndex = ptr(int32(tooOld))
	}
	if from > tooOld {
		info.ExpiredLogEventEndIndex = ptr(int32(from))
	}
	if to < len(events) {
		info.TooNewLogEventStartIndex = ptr(int32(to))
	}
	return from, to, info
}
