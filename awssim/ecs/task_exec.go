package ecs

import (
	"context"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// deadStream is where the session of ExecuteCommand is said to be. Nothing accepts connections there, so that no client
// takes the session to AWS.
const deadStream = "wss://127.0.0.1:1/v1/data-channel/"

// ExecuteCommand checks the request. Its session has no agent of Session Manager behind it.
func (s *Service) ExecuteCommand(ctx context.Context, in *awsecs.ExecuteCommandInput) (*awsecs.ExecuteCommandOutput,
	error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.ExecuteCommandOutput, error) {
		c, err := clusterOf(tx, in.Cluster)
		if err != nil {
			return nil, err
		}
		if err := checkTaskIDs(val(in.Task)); err != nil {
			return nil, err
		}
		t, ok := taskIn(tx, c, val(in.Task))
		switch {
		case !ok:
			return nil, invalidParameter("The referenced task was not found.")
		case !in.Interactive:
			return nil, invalidParameter("Interactive is the only mode supported currently.")
		case val(in.Command) == "":
			return nil, invalidParameter("Command cannot be empty.")
		case t.LastStatus != "RUNNING" || t.DesiredStatus != "RUNNING" || !docOfTask(t).exec:
			return nil, invalidParameter("The execute command failed because execute command was not enabled when the " +
				"task was run or the execute command agent isn’t running. Wait and try again or run a new task with execute " +
				"command enabled and try again.")
		}
		name, err := containerToExec(t, val(in.Container))
		if err != nil {
			return nil, err
		}
		id := "ecs-execute-command-" + t.ID[:17]
		return &awsecs.ExecuteCommandOutput{ClusterArn: ptr(c.ARN), TaskArn: ptr(t.ARN), ContainerName: ptr(name),
			Interactive: true, Session: &ecstypes.Session{SessionId: ptr(id), StreamUrl: ptr(deadStream + id),
				TokenValue: ptr("simulated")}}, nil
	})
}

// containerToExec returns the container of a command. A task with several containers needs its name.
func containerToExec(t *world.Task, name string) (string, error) {
	if name == "" && len(t.Containers) == 1 {
		return t.Containers[0].Spec.Name, nil
	}
	if name == "" {
		return "", invalidParameter("Container name is required as the task has several containers.")
	}
	for _, c := range t.Containers {
		if c.Spec.Name == name {
			return name, nil
		}
	}
	return "", invalidParameter("The container name is not found in the task.")
}
