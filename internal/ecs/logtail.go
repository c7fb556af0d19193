package ecs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awslogs "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	logstypes "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
)

// Output is the log stream of a container of a task, or why the log cannot be read.
type Output struct {
	Container string
	Place     LogPlace
	Err       error
}

// ContainerOutputs returns the output of every container of a task, from its task definition.
func ContainerOutputs(td *ecstypes.TaskDefinition, task string) []Output {
	var all []Output
	for _, c := range td.ContainerDefinitions {
		o := Output{Container: aws.ToString(c.Name)}
		o.Place, o.Err = LogsOf(td, o.Container, task)
		all = append(all, o)
	}
	return all
}

// Tail reads the log of a container from the first line on.
type Tail struct {
	Place LogPlace
	next  *string // token of the next read
}

// LogLine is a line of a log.
type LogLine struct {
	At   time.Time
	Text string
}

// tailPages limits the pages of one read; the next read returns the rest.
const tailPages = 20

// ReadLast returns the last lines of a log, at most n. Read then returns those after them.
func (t *Tail) ReadLast(ctx context.Context, api *awslogs.Client, n int) ([]LogLine, error) {
	out, err := api.GetLogEvents(ctx, &awslogs.GetLogEventsInput{LogGroupName: aws.String(t.Place.Group),
		LogStreamName: aws.String(t.Place.Stream), StartFromHead: aws.Bool(false), Limit: aws.Int32(int32(n))}, t.setRegion)
	var missing *logstypes.ResourceNotFoundException
	switch {
	case errors.As(err, &missing):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read log %s: %w", t.Place, sluice.Inner(err))
	}
	t.next = out.NextForwardToken
	return logLines(out.Events), nil
}

func logLines(events []logstypes.OutputLogEvent) []LogLine {
	var all []LogLine
	for _, e := range events {
		all = append(all, LogLine{time.UnixMilli(aws.ToInt64(e.Timestamp)).UTC(),
			strings.TrimRight(aws.ToString(e.Message), "\r\n")})
	}
	return all
}

// Read returns the lines since the last read. A log that does not exist yet has none.
func (t *Tail) Read(ctx context.Context, api *awslogs.Client) ([]LogLine, error) {
	var all []LogLine
	for range tailPages {
		out, err := api.GetLogEvents(ctx, &awslogs.GetLogEventsInput{LogGroupName: aws.String(t.Place.Group),
			LogStreamName: aws.String(t.Place.Stream),
			StartFromHead: aws.Bool(true), NextToken: t.next}, t.setRegion)
		var missing *logstypes.ResourceNotFoundException
		switch {
		case errors.As(err, &missing):
			return all, nil
		case err != nil:
			return all, fmt.Errorf("read log %s: %w", t.Place, sluice.Inner(err))
		}
		all = append(all, logLines(out.Events)...)
		// At the end of a log, AWS returns the token unchanged.
		if end := aws.ToString(out.NextForwardToken) == aws.ToString(t.next); end || len(out.Events) == 0 {
			t.next = out.NextForwardToken
			return all, nil
		}
		t.next = out.NextForwardToken
	}
	return all, nil
}

func (t *Tail) setRegion(o *awslogs.Options) {
	if t.Place.Region != "" {
		o.Region = t.Place.Region
	}
}
