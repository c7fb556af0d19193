package upkeep

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awslogs "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	logstypes "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"

	"github.com/sluice-ecs/sluice"
)

// LogWriter writes lines to log groups, to test that they can be written to.
type LogWriter struct {
	API *awslogs.Client
	Act sluice.Act
}

// Put creates a stream in a log group and writes a line to it.
func (w LogWriter) Put(ctx context.Context, group, region, stream, line string, at time.Time) error {
	in := func(o *awslogs.Options) { o.Region = region }
	write := func(operation string, call func(ctx context.Context) error) error {
		does := sluice.Write{Operation: operation, Resource: group + " " + stream}
		return w.Act(ctx, sluice.Attempt{Action: "put-logs", Planned: does, Actual: does},
			func(ctx context.Context) (string, error) { return "done", call(ctx) })
	}
	err := write("logs:CreateLogStream", func(ctx context.Context) error {
		_, err := w.API.CreateLogStream(ctx,
			&awslogs.CreateLogStreamInput{LogGroupName: aws.String(group), LogStreamName: aws.String(stream)}, in)
		return err
	})
	if err != nil {
		return err
	}
	return write("logs:PutLogEvents", func(ctx context.Context) error {
		_, err := w.API.PutLogEvents(ctx, &awslogs.PutLogEventsInput{LogGroupName: aws.String(group),
			LogStreamName: aws.String(stream), LogEvents: []logstypes.InputLogEvent{{Message: aws.String(line),
				Timestamp: aws.Int64(at.UnixMilli())}}}, in)
		return err
	})
}
