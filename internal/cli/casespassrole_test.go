package cli

import (
	"context"
	"testing"

	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"

	"github.com/sluice-ecs/sluice"
)

// refusal answers one operation with an error of AWS, before the call reaches the local AWS.
type refusal struct{ operation, code, message string }

// ID returns the middleware's name in the SDK's stack.
func (refusal) ID() string { return "RefusedByTest" }

// HandleDeserialize answers instead of AWS.
func (r refusal) HandleDeserialize(ctx context.Context, in middleware.DeserializeInput,
	next middleware.DeserializeHandler) (middleware.DeserializeOutput, middleware.Metadata, error) {
	if middleware.GetOperationName(ctx) == r.operation {
		return middleware.DeserializeOutput{}, middleware.Metadata{}, &smithy.GenericAPIError{Code: r.code,
			Message: r.message, Fault: smithy.FaultClient}
	}
	return next.HandleDeserialize(ctx, in)
}

// AWS refuses a call because a role may not be passed, and names that action instead of the call's own. The remedy is
// the one for the action of the text, with the service that the role is passed to, in whichever call it is.
func TestCaseRefusedForPassRole(t *testing.T) {
	const text = "User: arn:aws:iam::123456789012:user/ci is not authorized to perform: iam:PassRole on resource: " +
		"arn:aws:iam::123456789012:role/app because no identity-based policy allows the iam:PassRole action"
	for operation, passed := range map[string]string{"RegisterTaskDefinition": "ecs-tasks.amazonaws.com",
		"UpdateService": "ecs.amazonaws.com"} {
		for code, exit := range map[string]int{"AccessDeniedException": sluice.ExitDenied,
			"ClientException": sluice.ExitRolledBack} {
			t.Run(operation+" "+code, func(t *testing.T) {
				playCase(t, "08-refused-for-passrole", nil, func(b *caseBench) {
					b.refuse = &refusal{operation, code, text}
					b.expect("deploy", exit, "allow iam:PassRole on role/app with iam:PassedToService "+passed+
						" in the IAM policy of user/ci", "!allow ecs:"+operation)
					if d := b.describeWeb().Deployments; len(d) != 1 {
						t.Errorf("%d deployments", len(d))
					}
					b.refuse = nil
					b.expect("deploy --take-over", 0, "succeeded")
				})
			})
		}
	}
}
