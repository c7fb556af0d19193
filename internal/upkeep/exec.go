package upkeep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
)

// ExecTarget is a container in which a command may run.
type ExecTarget struct {
	Service   ecs.Service // its cluster
	Task      string      // ID
	Container string
	runtimeID string
}

// FindExecTarget returns a container of a task: the named one, or that of a task with only one. It returns an error if
// the task does not allow ECS Exec.
func FindExecTarget(ctx context.Context, s ecs.Service, task, container string) (ExecTarget, error) {
	t := ExecTarget{Service: s, Task: task, Container: container}
	refuse := func(next, why string, args ...any) (ExecTarget, error) {
		return t, &sluice.Error{Op: "execute a command", Resource: sluice.ARNName(s.Cluster) + "/" + task,
			Err: fmt.Errorf(why, args...), Next: next}
	}
	out, err := s.API.DescribeTasks(ctx, &awsecs.DescribeTasksInput{Cluster: &s.Cluster, Tasks: []string{task}})
	switch {
	case err != nil:
		return t, fmt.Errorf("read the task %s: %w", task, sluice.Inner(err))
	case len(out.Tasks) == 0:
		return refuse("run sluice tasks to list the tasks", "the task does not exist")
	case !out.Tasks[0].EnableExecuteCommand:
		return refuse("set enableExecuteCommand in the service definition, and run sluice deploy --force-new-deployment",
			"the task does not allow ECS Exec")
	}
	var names []string
	for _, c := range out.Tasks[0].Containers {
		names = append(names, aws.ToString(c.Name))
		if container == "" && len(out.Tasks[0].Containers) == 1 || aws.ToString(c.Name) == container {
			t.Container, t.runtimeID = aws.ToString(c.Name), aws.ToString(c.RuntimeId)
			return t, nil
		}
	}
	if container == "" {
		return refuse("give --container NAME", "it has the containers %v", names)
	}
	return refuse("give another --container", "it has no container %s, but %v", container, names)
}

// SessionTarget returns the container as Session Manager names it.
func (t ExecTarget) SessionTarget() string {
	return "ecs:" + sluice.ARNName(t.Service.Cluster) + "_" + t.Task + "_" + t.runtimeID
}

// Execute starts a command in the container. It returns the session as session-manager-plugin takes it.
func (t ExecTarget) Execute(ctx context.Context, act sluice.Act, command string) (session []byte, err error) {
	w := sluice.Write{Operation: "ecs:ExecuteCommand", Resource: sluice.ARNName(t.Service.Cluster) + "/" + t.Task}
	err = act(ctx, sluice.Attempt{Action: "execute a command in " + t.Task, Planned: w, Actual: w},
		func(ctx context.Context) (string, error) {
			out, err := t.Service.API.ExecuteCommand(ctx, &awsecs.ExecuteCommandInput{Cluster: &t.Service.Cluster, Task: &t.Task,
				Container: &t.Container, Command: &command, Interactive: true})
			if err != nil {
				return "", err
			}
			if out.Session == nil {
				return "", errors.New("the response has no session")
			}
			session, err = json.Marshal(map[string]string{"SessionId": aws.ToString(out.Session.SessionId),
				"StreamUrl": aws.ToString(out.Session.StreamUrl), "TokenValue": aws.ToString(out.Session.TokenValue)})
			return "session " + aws.ToString(out.Session.SessionId), err
		})
	return session, err
}
