package ecs

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awslogs "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
)

// LogPlace is the log stream of a container in CloudWatch Logs.
type LogPlace struct {
	Group, Stream string
	Region        string // empty: the service's
}

func (p LogPlace) String() string { return p.Group + " " + p.Stream }

// LogsOf returns the log stream of a container of a task, from its task definition. Its error says
// why the log cannot be read.
func LogsOf(td *ecstypes.TaskDefinition, container, task string) (LogPlace, error) {
	for _, c := range td.ContainerDefinitions {
		if aws.ToString(c.Name) == container {
			return logPlace(c, task)
		}
	}
	return LogPlace{}, errors.New("the task definition has no such container")
}

// logPlace follows the awslogs driver's naming: prefix/container/task (ECS
// Developer Guide, "Send Amazon ECS logs to CloudWatch").
func logPlace(c ecstypes.ContainerDefinition, task string) (LogPlace, error) {
	l, name := c.LogConfiguration, aws.ToString(c.Name)
	if l == nil {
		return LogPlace{}, errors.New("it has no log configuration")
	}
	if l.LogDriver != ecstypes.LogDriverAwslogs {
		return LogPlace{}, fmt.Errorf("it is sent to %s", l.LogDriver)
	}
	p := LogPlace{Group: l.Options["awslogs-group"], Region: l.Options["awslogs-region"]}
	prefix := l.Options["awslogs-stream-prefix"]
	if p.Group == "" || prefix == "" {
		return p, errors.New("its configuration has no group or no stream prefix")
	}
	p.Stream = prefix + "/" + name + "/" + task
	return p, nil
}

// LastLines returns the last lines of a log stream, at most n, oldest first, each cut to width
// characters.
func LastLines(ctx context.Context, api *awslogs.Client, p LogPlace, n, width int) ([]string, error) {
	out, err := api.GetLogEvents(ctx, &awslogs.GetLogEventsInput{
		LogGroupName: aws.String(p.Group), LogStreamName: aws.String(p.Stream), Limit: aws.Int32(int32(n)),
		StartFromHead: aws.Bool(false),
	}, func(o *awslogs.Options) {
		if p.Region != "" {
			o.Region = p.Region
		}
	})
	if err != nil {
		return nil, fmt.Errorf("read log %s: %w", p, sluice.Inner(err))
	}
	var lines []string
	for _, e := range out.Events {
		text := []rune(strings.TrimRight(aws.ToString(e.Message), "\r\n\t "))
		if len(text) > width {
			text = append(text[:width-1:width-1], '…')
		}
		lines = append(lines, string(text))
	}
	return lines, nil
}
