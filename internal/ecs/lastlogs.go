package ecs

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awslogs "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

// lastLogWidth is how many characters of each line are read.
const lastLogWidth = 300

// LastLogs reads the last log lines of the containers of failed tasks.
type LastLogs struct {
	ECS  *awsecs.Client
	Logs *awslogs.Client
	// Planned returns the task definition of a revision if the caller knows it, or nil. The log configuration of a
	// container there needs no read.
	Planned func(revision string) *definition.Task
}

// Read returns one log for each task. A log that cannot be read contains the reason.
func (r LastLogs) Read(ctx context.Context, tasks []diagnosis.Stopped) []diagnosis.Log {
	all := make([]diagnosis.Log, 0, len(tasks))
	for _, t := range tasks {
		l := diagnosis.Log{Task: t.ID, Container: t.Container}
		if err := r.readLog(ctx, t, &l); err != nil {
			l.Err = sluice.Inner(err).Error()
		}
		all = append(all, l)
	}
	return all
}

func (r LastLogs) readLog(ctx context.Context, t diagnosis.Stopped, l *diagnosis.Log) error {
	place, err := r.findPlace(ctx, t)
	if err != nil {
		return err
	}
	l.Place = place.String()
	l.Lines, err = LastLines(ctx, r.Logs, place, diagnosis.LogLines, lastLogWidth)
	return err
}

// findPlace returns where the log of the container is that explains the stop.
func (r LastLogs) findPlace(ctx context.Context, t diagnosis.Stopped) (LogPlace, error) {
	if c := r.knownContainer(t); c != nil {
		return logPlace(*c, t.ID)
	}
	td, err := ReadDefinition(ctx, r.ECS, t.Revision)
	if err != nil {
		return LogPlace{}, err
	}
	return LogsOf(td, t.Container, t.ID)
}

// knownContainer returns the container that explains the stop, from what the caller knows.
func (r LastLogs) knownContainer(t diagnosis.Stopped) *ecstypes.ContainerDefinition {
	if r.Planned == nil {
		return nil
	}
	task := r.Planned(t.Revision)
	if task == nil {
		return nil
	}
	all := task.Input.ContainerDefinitions
	i := slices.IndexFunc(all, func(c ecstypes.ContainerDefinition) bool { return aws.ToString(c.Name) == t.Container })
	if i < 0 {
		return nil
	}
	return &all[i]
}
