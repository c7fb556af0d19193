package iam

import (
	"context"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// roleCreation returns the creation time of every role.
func roleCreation() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// Page sizes (API reference, SimulatePrincipalPolicy).
const (
	defaultPage = 100
	maxPage     = 1000
)

var (
	actionForm = regexp.MustCompile(`^[a-zA-Z0-9-]+:[a-zA-Z0-9*?]+$`)
	entityForm = regexp.MustCompile(`^arn:aws[a-z-]*:iam::\d{12}:(user|group|role)/\S+$`)
)

// SimulatePrincipalPolicy evaluates the policies of a user or role. Each action has its own result,
// with one for each named resource.
func (s *Service) SimulatePrincipalPolicy(ctx context.Context,
	in *awsiam.SimulatePrincipalPolicyInput) (*awsiam.SimulatePrincipalPolicyOutput, error) {
	if err := checkInput(in); err != nil {
		return nil, err
	}
	if err := s.checkAllowed(ctx, "iam:SimulatePrincipalPolicy", *in.PolicySourceArn); err != nil {
		return nil, err
	}
	p, ok := s.findPrincipal(ctx, *in.PolicySourceArn)
	if !ok {
		return nil, &world.Refusal{Code: "NoSuchEntity", Status: 404, Message: "The " + entityOf(*in.PolicySourceArn) +
			" cannot be found."}
	}
	more, err := parsePolicies(in.PolicyInputList)
	if err != nil {
		return nil, err
	}
	p.Policies = append(p.Policies[:len(p.Policies):len(p.Policies)], more...)
	var all []iamtypes.EvaluationResult
	for _, a := range in.ActionNames {
		all = append(all, p.simulateAction(a, in.ResourceArns, contextOf(in.ContextEntries)))
	}
	page, next, err := wire.Page(all, in.Marker, int(aws.ToInt32(in.MaxItems)), defaultPage, maxPage, nil)
	if err != nil {
		return nil, world.Refuse("InvalidInput", "Invalid Marker.")
	}
	return &awsiam.SimulatePrincipalPolicyOutput{EvaluationResults: page, IsTruncated: next != nil, Marker: next}, nil
}

// checkInput refuses input that AWS refuses, and input that is not simulated.
func checkInput(in *awsiam.SimulatePrincipalPolicyInput) error {
	switch {
	case !entityForm.MatchString(*in.PolicySourceArn):
		return world.Refuse("InvalidInput", "Invalid Entity Arn: %s does not clearly define entity type and name.",
			*in.PolicySourceArn)
	case in.ResourcePolicy != nil || in.ResourceHandlingOption != nil ||
		len(in.PermissionsBoundaryPolicyInputList) > 0 || len(in.PolicyExclusionList) > 0 ||
		in.CallerArn != nil && *in.CallerArn != *in.PolicySourceArn:
		return world.Refuse("InvalidInput",
			"the local AWS simulates the policies of a principal alone: omit ResourcePolicy, "+
				"ResourceHandlingOption, PermissionsBoundaryPolicyInputList, PolicyExclusionList and another CallerArn")
	}
	for _, a := range in.ActionNames {
		if !actionForm.MatchString(a) {
			return world.Refuse("InvalidInput", "Invalid action name %s.", a)
		}
	}
	for _, r := range in.ResourceArns {
		if r != "*" && !strings.HasPrefix(r, "arn:") {
			return world.Refuse("InvalidInput", "%s is invalid", r)
		}
	}
	return nil
}

// entityOf returns the words for an ARN's entity, such as "role with name deployer".
func entityOf(arn string) string {
	kind, rest, _ := strings.Cut(arn[strings.LastIndexByte(arn, ':')+1:], "/")
	return kind + " with name " + rest[strings.LastIndexByte(rest, '/')+1:]
}

// contextOf returns the values of context keys; keys have no case.
func contextOf(entries []iamtypes.ContextEntry) map[string][]string {
	all := map[string][]string{}
	for _, e := range entries {
		all[strings.ToLower(aws.ToString(e.ContextKeyName))] = e.ContextKeyValues
	}
	return all
}

// simulateAction returns the result for an action. Without resources, and for "*", the action is
// evaluated on all resources. With resources, the result's own decision is the strictest, and each
// resource has its own result (API reference, EvaluationResult).
func (p Principal) simulateAction(action string, resources []string,
	given map[string][]string) iamtypes.EvaluationResult {
	named := len(resources) > 0 && !(len(resources) == 1 && resources[0] == "*")
	if !named {
		v := p.decideQuestion(actionQuery{action: action, resource: "*", context: given})
		return iamtypes.EvaluationResult{EvalActionName: &action, EvalResourceName: aws.String("*"),
			EvalDecision: v.decision, MatchedStatements: v.matchedStatements(),
			MissingContextValues: v.missing, PermissionsBoundaryDecisionDetail: v.boundary}
	}
	// AWS returns the ARN template of the action's resource type here, which this package does not
	// know. A caller must not read it as a resource.
	out := iamtypes.EvaluationResult{EvalActionName: &action, EvalResourceName: aws.String("*"),
		EvalDecision: decisionAllowed}
	for _, r := range resources {
		v := p.decideQuestion(actionQuery{action: action, resource: r, context: given})
		out.ResourceSpecificResults = append(out.ResourceSpecificResults,
			iamtypes.ResourceSpecificResult{EvalResourceName: aws.String(r), EvalResourceDecision: v.decision,
				MatchedStatements: v.matchedStatements(), MissingContextValues: v.missing,
				PermissionsBoundaryDecisionDetail: v.boundary})
		if strictness[v.decision] > strictness[out.EvalDecision] {
			out.EvalDecision = v.decision
		}
	}
	return out
}

var strictness = map[iamtypes.PolicyEvaluationDecisionType]int{decisionAllowed: 0, implicitDeny: 1, explicitDeny: 2}
