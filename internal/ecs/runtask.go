package ecs

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/definition"
)

// RunBatch is the maximum number of tasks per RunTask call (ECS API Reference).
const RunBatch = 10

// Tasks is the client for tasks that belong to no service.
type Tasks struct {
	API     *awsecs.Client
	Cluster string // name or ARN
	Family  string // of their task definition
}

// Launch is one call of RunTask. The same ID starts the same tasks, however often the call is
// repeated, while ECS remembers the token. It does so for 24 hours, or for an hour longer than the
// tasks live, whichever is less ("Ensuring idempotency").
type Launch struct {
	ID        sluice.ActionID
	Planned   sluice.Write
	StartedBy string // at most 128 characters; see [Tasks.FindTasks]
	Revision  Revision
	Count     int // at most RunBatch
	Request   *definition.Run
}

// Launched is the result of a [Launch]: the ids of the tasks, and the reason from ECS for each
// missing task.
type Launched struct {
	Tasks   []string
	Missing []string
}

// Run starts tasks. If an earlier call with the same token and other parameters started tasks, AWS
// returns their ids, and Run returns those.
func (t Tasks) Run(ctx context.Context, act sluice.Act, action string, l Launch) (out Launched, err error) {
	in := *l.Request.Input
	in.Cluster, in.TaskDefinition, in.Count = aws.String(t.Cluster), aws.String(l.Revision.ARN),
		aws.Int32(int32(l.Count))
	in.ClientToken, in.StartedBy = aws.String(l.ID.Token()), aws.String(l.StartedBy)
	a := sluice.Attempt{Action: action, Planned: l.Planned,
		Actual: sluice.Write{Operation: "ecs:RunTask", Resource: sluice.ARNName(t.Cluster) + "/" + l.Revision.Name}}
	err = act(ctx, a, func(ctx context.Context) (string, error) {
		answer, err := t.API.RunTask(ctx, &in)
		var before *ecstypes.ConflictException
		if errors.As(err, &before) && len(before.ResourceIds) > 0 {
			out.Tasks = idsOf(before.ResourceIds)
			return strings.Join(out.Tasks, " ") + ", already started", nil
		}
		if err != nil {
			return "", err
		}
		for _, task := range answer.Tasks {
			out.Tasks = append(out.Tasks, sluice.ARNName(aws.ToString(task.TaskArn)))
		}
		for _, f := range answer.Failures {
			out.Missing = append(out.Missing, failureText(f))
		}
		// AWS returns neither if the first call with the token started nothing
		for len(out.Tasks)+len(out.Missing) < l.Count {
			out.Missing = append(out.Missing, "ECS started no task and gave no reason")
		}
		return orNone(strings.Join(out.Tasks, " ")), nil
	})
	return out, explainRefusal(err)
}

// explainRefusal sets the next step of an error about a rejected request. The request comes from the
// files.
func explainRefusal(err error) error {
	var invalid *ecstypes.InvalidParameterException
	var client *ecstypes.ClientException
	var told *sluice.Error
	if !errors.As(err, &invalid) && !errors.As(err, &client) || !errors.As(err, &told) {
		return err
	}
	with := *told
	with.Next = "fix the field that AWS names, in the task definition, in awsvpcConfiguration or under runTask; " +
		"this call started no task"
	return &with
}

func orNone(s string) string {
	if s == "" {
		return "no task"
	}
	return s
}

func failureText(f ecstypes.Failure) string {
	words := aws.ToString(f.Reason)
	if d := aws.ToString(f.Detail); d != "" {
		words += ": " + d
	}
	return words
}

func idsOf(arns []string) []string {
	var ids []string
	for _, arn := range arns {
		ids = append(ids, sluice.ARNName(arn))
	}
	return ids
}

// FindTasks returns the running tasks with startedBy, and the stopped ones that ECS lists for about
// an hour. With startedBy alone ECS lists only tasks that are to run. Stopped tasks are listed by
// family.
func (t Tasks) FindTasks(ctx context.Context, startedBy string) ([]string, error) {
	s := Service{API: t.API, Cluster: t.Cluster, Name: "family:" + t.Family}
	running, err := s.listTasks(ctx, awsecs.ListTasksInput{StartedBy: aws.String(startedBy)})
	if err != nil {
		return nil, err
	}
	stopped, err := s.listTasks(ctx, awsecs.ListTasksInput{Family: aws.String(t.Family),
		DesiredStatus: ecstypes.DesiredStatusStopped})
	if err != nil {
		return nil, err
	}
	tasks, err := s.describeTasks(ctx, stopped)
	for _, x := range tasks {
		if aws.ToString(x.StartedBy) == startedBy {
			running = append(running, aws.ToString(x.TaskArn))
		}
	}
	ids := idsOf(running)
	slices.Sort(ids)
	return slices.Compact(ids), err
}

// ReadFamily reads the tasks of the family that belong to no service: running ones and those that
// stopped within about an hour.
func (t Tasks) ReadFamily(ctx context.Context) ([]TaskRun, error) {
	s := Service{API: t.API, Cluster: t.Cluster, Name: "family:" + t.Family}
	var ids []string
	for _, d := range []ecstypes.DesiredStatus{ecstypes.DesiredStatusRunning, ecstypes.DesiredStatusStopped} {
		arns, err := s.listTasks(ctx, awsecs.ListTasksInput{Family: aws.String(t.Family), DesiredStatus: d})
		if err != nil {
			return nil, err
		}
		ids = append(ids, arns...)
	}
	all, err := s.describeTasks(ctx, ids)
	var out []TaskRun
	for _, x := range all {
		if !strings.HasPrefix(aws.ToString(x.Group), "service:") {
			out = append(out, newTaskRun(x))
		}
	}
	return out, err
}

// TaskRun is the state of a task in one read.
type TaskRun struct {
	ID        string            `json:"id"`
	Status    string            `json:"status"` // PROVISIONING … STOPPED
	StartedBy string            `json:"startedBy,omitempty"`
	Exited    []string          `json:"-"`               // names of its containers that have ended
	Ended     *sluice.TaskEnded `json:"ended,omitempty"` // once it is STOPPED
}

// DescribeTasks reads tasks by id. The result omits tasks that ECS does not know yet or any more.
func (t Tasks) DescribeTasks(ctx context.Context, ids []string) ([]TaskRun, error) {
	all, err := Service{API: t.API, Cluster: t.Cluster, Name: "family:" + t.Family}.describeTasks(ctx, ids)
	var out []TaskRun
	for _, x := range all {
		out = append(out, newTaskRun(x))
	}
	return out, err
}

func newTaskRun(t ecstypes.Task) TaskRun {
	r := TaskRun{ID: sluice.ARNName(aws.ToString(t.TaskArn)), Status: aws.ToString(t.LastStatus),
		StartedBy: aws.ToString(t.StartedBy)}
	for _, c := range t.Containers {
		if aws.ToString(c.LastStatus) == "STOPPED" {
			r.Exited = append(r.Exited, aws.ToString(c.Name))
		}
	}
	if r.Status == "STOPPED" {
		r.Ended = newTaskEnded(t)
	}
	return r
}

func newTaskEnded(t ecstypes.Task) *sluice.TaskEnded {
	e := &sluice.TaskEnded{Task: sluice.ARNName(aws.ToString(t.TaskArn)),
		Revision: sluice.RevisionOf(aws.ToString(t.TaskDefinitionArn)),
		StopCode: string(t.StopCode), Reason: aws.ToString(t.StoppedReason)}
	for _, c := range t.Containers {
		end := sluice.ContainerEnded{Name: aws.ToString(c.Name), Reason: aws.ToString(c.Reason)}
		if c.ExitCode != nil {
			code := int(*c.ExitCode)
			end.ExitCode = &code
		}
		e.Containers = append(e.Containers, end)
	}
	return e
}
