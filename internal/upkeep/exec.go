package upkeep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

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

// turnExecOn is the next step if a task does not allow ECS Exec, which needs a role of the tasks too: only new tasks get the
// settings.
const turnExecOn = "set enableExecuteCommand: true in the service definition and taskRoleArn in the task definition, and run " +
	"sluice deploy --force-new-deployment"

// CheckExec returns an error if none of the running tasks allows ECS Exec.
func CheckExec(s ecs.Service, running []ecs.Task) error {
	switch {
	case len(running) == 0:
		return &sluice.Error{Op: "execute a command", Kind: sluice.NotFound,
			Err: errors.New("no task of the application runs"), Next: "run sluice status"}
	case !slices.ContainsFunc(running, func(t ecs.Task) bool { return t.AllowsExec }):
		return &sluice.Error{Op: "execute a command", Resource: strings.TrimSuffix(s.Resource(), "/"),
			Err: errors.New("ECS Exec is off: no running task allows it"), Next: turnExecOn}
	}
	return nil
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
		return refuse(turnExecOn, "the task does not allow ECS Exec")
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

// SessionSender signs and sends a write of a service without a client in this program. The account is one.
type SessionSender interface {
	SendWrite(ctx context.Context, service, operation, resource string, r *http.Request) ([]byte, error)
}

// PortForward is a port of a container, or of a host that it reaches.
type PortForward struct {
	Port, LocalPort int    // LocalPort 0: a free one
	Host            string // "": the container itself
}

// SessionRequest is the input of StartSession (API reference of AWS Systems Manager), as session-manager-plugin takes it.
type SessionRequest struct {
	Target       string
	DocumentName string              `json:",omitempty"`
	Parameters   map[string][]string `json:",omitempty"`
}

// Request returns the request that starts the session of a forwarded port.
func (f PortForward) Request(t ExecTarget) SessionRequest {
	q := SessionRequest{Target: t.SessionTarget(), DocumentName: "AWS-StartPortForwardingSession",
		Parameters: map[string][]string{"portNumber": {strconv.Itoa(f.Port)}}}
	if f.LocalPort != 0 {
		q.Parameters["localPortNumber"] = []string{strconv.Itoa(f.LocalPort)}
	}
	if f.Host != "" {
		q.DocumentName += "ToRemoteHost"
		q.Parameters["host"] = []string{f.Host}
	}
	return q
}

// StartSession starts a session with the container. It returns the session as session-manager-plugin takes it.
func (t ExecTarget) StartSession(ctx context.Context, act sluice.Act, send SessionSender, q SessionRequest) (
	session []byte, err error) {
	w := sluice.Write{Operation: "ssm:StartSession", Resource: sluice.ARNName(t.Service.Cluster) + "/" + t.Task}
	err = act(ctx, sluice.Attempt{Action: "start a session with " + t.Task, Planned: w, Actual: w},
		func(ctx context.Context) (string, error) {
			var out struct{ SessionId, StreamUrl, TokenValue string }
			session, err = sendSession(ctx, send, w.Resource, q)
			if err == nil {
				err = json.Unmarshal(session, &out)
			}
			if err == nil && (out.SessionId == "" || out.StreamUrl == "") {
				err = errors.New("the response has no session")
			}
			return "session " + out.SessionId, err
		})
	return session, err
}

func sendSession(ctx context.Context, send SessionSender, resource string, q SessionRequest) ([]byte, error) {
	body, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequest(http.MethodPost, "/", strings.NewReader(string(body)))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/x-amz-json-1.1")
	r.Header.Set("X-Amz-Target", "AmazonSSM.StartSession")
	return send.SendWrite(ctx, "ssm", "StartSession", resource, r)
}
