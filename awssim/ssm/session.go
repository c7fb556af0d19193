package ssm

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// deadStream is where a session is said to be. Nothing accepts connections there, so that no client takes the session
// to AWS.
const deadStream = "wss://127.0.0.1:1/v1/data-channel/"

// Documents of AWS that forward a port of a target, or of a host that the target reaches.
const (
	forwardPort = "AWS-StartPortForwardingSession"
	forwardHost = "AWS-StartPortForwardingSessionToRemoteHost"
)

// StartSessionInput is the input of StartSession.
type StartSessionInput struct {
	Target, DocumentName, Reason string
	Parameters                   map[string][]string
}

// StartSessionOutput is the output of StartSession.
type StartSessionOutput struct{ SessionId, StreamUrl, TokenValue string }

// StartSession starts a session with a container of ECS. Its session has no agent of Session Manager behind it.
func (s *Service) StartSession(ctx context.Context, in *StartSessionInput) (out *StartSessionOutput, err error) {
	err = s.runStep(ctx, func(tx *world.Tx, of *state) error {
		if err := checkDocument(in); err != nil {
			return err
		}
		if !isConnected(tx, in.Target) {
			return world.Refuse("TargetNotConnected", "%s is not connected.", in.Target)
		}
		of.sessions++
		id := "session-" + strconv.Itoa(of.sessions)
		out = &StartSessionOutput{SessionId: id, StreamUrl: deadStream + id, TokenValue: "simulated"}
		return nil
	})
	return out, err
}

// checkDocument refuses other documents than those that forward ports, and parameters that are not ports.
func checkDocument(in *StartSessionInput) error {
	switch in.DocumentName {
	case "", forwardPort:
	case forwardHost:
		if len(in.Parameters["host"]) != 1 {
			return world.Refuse("InvalidParameters", "Parameter \"host\" is required.")
		}
	default:
		return world.Refuse("InvalidDocument", "Document with name %s does not exist.", in.DocumentName)
	}
	for _, name := range []string{"portNumber", "localPortNumber"} {
		for _, text := range in.Parameters[name] {
			if n, err := strconv.Atoi(text); err != nil || n < 0 || n > 65535 {
				return world.Refuse("InvalidParameters", "Parameter \"%s\" has value \"%s\" not matching the pattern.", name, text)
			}
		}
	}
	return nil
}

// isConnected reports whether a target is a running container with ECS Exec:
// ecs:<cluster>_<task ID>_<runtime ID of the container>.
func isConnected(tx *world.Tx, target string) bool {
	names, ok := strings.CutPrefix(target, "ecs:")
	parts := strings.Split(names, "_")
	if !ok || len(parts) < 3 {
		return false
	}
	n := len(parts)
	t, ok := tx.Tasks.Get(tx.ARN("ecs", "task/"+strings.Join(parts[:n-2], "_")+"/"+parts[n-2]))
	if !ok || t.LastStatus != "RUNNING" || t.DesiredStatus != "RUNNING" {
		return false
	}
	exec, ok := t.Doc.(interface{ AllowsExec() bool })
	return ok && exec.AllowsExec() &&
		slices.ContainsFunc(t.Containers, func(c *world.Container) bool { return c.RuntimeID == parts[n-1] })
}
