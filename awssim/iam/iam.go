// Package iam implements a part of the API of AWS Identity and Access Management:
// SimulatePrincipalPolicy and GetRole.
//
// The policies are those that a world file gives its principals. They are simulated and never
// enforced: no other API refuses a call by them. The caller is the user "sluice" unless a role was
// assumed. That user may do everything if the world file has no policy for it.
//
// Start reading at [Service.SimulatePrincipalPolicy], then evaluate.go.
package iam

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	smithy "github.com/aws/smithy-go"

	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// Principal is a user or a role with its policies.
type Principal struct {
	ARN      string
	Policies []Policy
	Boundary *Policy  // nil: it has none
	Trusts   []string // services that may assume the role
}

// principalName returns the name of the user or role, without its path.
func (p Principal) principalName() string { return p.ARN[strings.LastIndexByte(p.ARN, '/')+1:] }

// IsRole reports whether the principal is a role, and no user.
func (p Principal) IsRole() bool { return strings.Contains(p.ARN, ":role/") }

// Service implements the API of IAM.
type Service struct {
	principals []Principal
	// EveryRole means that every role exists, may do everything, and may be assumed by the services that use roles:
	// that of a world whose file names none, not among its principals either. There ECS assumes every role too.
	EveryRole bool
}

// New creates the API with the principals of a world.
func New(principals []Principal) *Service { return &Service{principals: principals} }

// NewAPI returns the API of some principals in the form that wire serves.
func NewAPI(principals []Principal) wire.API { return New(principals).API() }

// API returns the API in the form that wire serves.
func (s *Service) API() wire.API {
	return wire.API{
		Name: "iam", ServiceID: "IAM", Protocol: wire.Query, Version: "2010-05-08",
		Namespace: "https://iam.amazonaws.com/doc/2010-05-08/", Service: s,
		Violation: "ValidationError", Constraints: constraints(),
		Known: []string{"SimulateCustomPolicy", "GetContextKeysForPrincipalPolicy", "GetContextKeysForCustomPolicy",
			"GetUser", "ListRoles", "ListUsers", "CreateRole",
			"DeleteRole", "PutRolePolicy", "GetRolePolicy", "AttachRolePolicy", "ListAttachedRolePolicies",
			"ListRolePolicies", "PassRole", "CreateServiceLinkedRole"},
		Errors: []smithy.APIError{&iamtypes.NoSuchEntityException{}, &iamtypes.InvalidInputException{},
			&iamtypes.PolicyEvaluationException{},
			&iamtypes.ServiceFailureException{}},
	}
}

// allowEverything returns the policy of a principal that is not in the world file.
func allowEverything() Policy {
	return Policy{Statement: []Statement{{Effect: "Allow", Action: list{"*"}, Resource: list{"*"}}}}
}

// findPrincipal returns a user or role by ARN. The default user always exists.
func (s *Service) findPrincipal(ctx context.Context, arn string) (Principal, bool) {
	for _, p := range s.principals {
		if p.ARN == arn {
			return p, true
		}
	}
	isRole := strings.HasPrefix(arn, world.KeyOf(ctx).GlobalARN("iam", "role/"))
	return Principal{ARN: arn, Policies: []Policy{allowEverything()}, Trusts: usersOfRoles()},
		arn == userARN(ctx) || s.EveryRole && isRole
}

// usersOfRoles returns the services that assume roles which the world file does not name.
func usersOfRoles() []string {
	return []string{"ecs-tasks.amazonaws.com", "ecs.amazonaws.com", "codedeploy.amazonaws.com"}
}

func userARN(ctx context.Context) string {
	return world.KeyOf(ctx).GlobalARN("iam", "user/sluice")
}

// callerPrincipal returns the caller: the default user, or the role of its session. A role that is
// not in the world file may do everything.
func (s *Service) callerPrincipal(ctx context.Context) (arn string, policies Principal) {
	c := wire.CallerOf(ctx)
	if c.ARN == "" {
		p, _ := s.findPrincipal(ctx, userARN(ctx))
		return userARN(ctx), p
	}
	parts := strings.Split(c.ARN, "/") // arn:aws:sts::<account>:assumed-role/<role>/<session>
	for _, p := range s.principals {
		if p.IsRole() && len(parts) > 1 && p.principalName() == parts[1] {
			return c.ARN, p
		}
	}
	return c.ARN, Principal{Policies: []Policy{allowEverything()}}
}

// checkAllowed refuses a call that the caller's policies do not allow.
func (s *Service) checkAllowed(ctx context.Context, action, resource string) error {
	arn, p := s.callerPrincipal(ctx)
	if p.decideQuestion(actionQuery{action: action, resource: resource}).decision == decisionAllowed {
		return nil
	}
	return &world.Refusal{Code: "AccessDenied", Status: 403, Message: "User: " + arn +
		" is not authorized to perform: " + action + " on resource: " + resource +
		" because no identity-based policy allows the " + action + " action"}
}

// GetRole returns the ARN of a role, with its path.
func (s *Service) GetRole(ctx context.Context, in *awsiam.GetRoleInput) (*awsiam.GetRoleOutput, error) {
	roles := world.KeyOf(ctx).GlobalARN("iam", "role/")
	role, found := s.findPrincipal(ctx, roles+*in.RoleName)
	for _, p := range s.principals {
		if strings.HasPrefix(p.ARN, roles) && p.principalName() == *in.RoleName {
			role, found = p, true
		}
	}
	if err := s.checkAllowed(ctx, "iam:GetRole", role.ARN); err != nil {
		return nil, err
	}
	if !found {
		return nil, &world.Refusal{Code: "NoSuchEntity", Status: 404, Message: "The role with name " + *in.RoleName +
			" cannot be found."}
	}
	path := strings.TrimSuffix(role.ARN[strings.IndexByte(role.ARN, '/'):], role.principalName())
	return &awsiam.GetRoleOutput{Role: &iamtypes.Role{Arn: &role.ARN, RoleName: in.RoleName, Path: &path,
		AssumeRolePolicyDocument: aws.String(role.trustPolicy(world.KeyOf(ctx))),
		RoleId:                   aws.String("AROA" + strings.Repeat("0", 17)),
		CreateDate:               aws.Time(roleCreation())}}, nil
}

// trustPolicy returns the policy of a role that says who may assume it, as IAM returns it: a URL-encoded text.
// Without a service it is the account. One service is a text and no list, as in IAM user guide, "Creating a role
// for an AWS service": clients read it so.
func (p Principal) trustPolicy(key world.Key) string {
	who := map[string]any{"AWS": key.GlobalARN("iam", "root")}
	switch len(p.Trusts) {
	case 0:
	case 1:
		who = map[string]any{"Service": p.Trusts[0]}
	default:
		who = map[string]any{"Service": p.Trusts}
	}
	text, _ := json.Marshal(map[string]any{"Version": "2012-10-17", "Statement": []any{
		map[string]any{"Effect": "Allow", "Principal": who, "Action": "sts:AssumeRole"}}})
	return url.QueryEscape(string(text))
}

// constraints returns the constraints of the service's model.
func constraints() map[string]wire.Constraint {
	return map[string]wire.Constraint{
		"GetRoleInput.RoleName":                        {Required: true, Length: []int{1, 64}, Pattern: `[\w+=,.@-]+`},
		"SimulatePrincipalPolicyInput.PolicySourceArn": {Required: true, Length: []int{20, 2048}},
		"SimulatePrincipalPolicyInput.ActionNames":     {Required: true},
		"SimulatePrincipalPolicyInput.MaxItems":        {Value: []int{1, maxPage}},
	}
}
