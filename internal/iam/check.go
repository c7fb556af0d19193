package iam

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	awssts "github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/sluice-ecs/sluice/internal/policy"
)

// Checker checks the permissions of the caller with IAM.
type Checker struct {
	IAM *awsiam.Client
	STS *awssts.Client
}

// Denied is an action that the caller may not do on a resource.
type Denied struct {
	Action   string `json:"action"`
	Resource string `json:"resource"` // as in the policy; may be a pattern
	Decision string `json:"decision"` // implicitDeny or explicitDeny
	By       string `json:"by"`       // the policy that denies it, for people
	// Elsewhere reports that another policy must be changed too, not only the one without the
	// statement.
	Elsewhere bool `json:"elsewhere,omitempty"`
	// Optional reports that a deployment does not need the action.
	Optional bool `json:"optional,omitempty"`
}

// CheckResult is IAM's result for a policy.
type CheckResult struct {
	Principal string          // ARN of the user or role; empty: the caller is neither
	Pairs     int             // pairs of an action and a resource
	Denied    []Denied        // in the order of the policy, the optional ones last
	Missing   policy.Document // the part of the policy that allows them
	Unknown   string          // why it could not be checked; empty: it was checked
}

// DeniesNeeded reports whether an action is denied that a deployment needs.
func (c CheckResult) DeniesNeeded() bool {
	return slices.ContainsFunc(c.Denied, func(d Denied) bool { return !d.Optional })
}

// permissionFree are actions that need no permission (STS API Reference, GetCallerIdentity).
var permissionFree = []string{"sts:GetCallerIdentity"}

// Check returns the actions of a policy that are denied to the caller. If IAM does not permit the
// simulation, Check returns no error and sets Unknown.
func (h Checker) Check(ctx context.Context, d policy.Document) (CheckResult, error) {
	c := CheckResult{Missing: policy.Document{Version: d.Version}}
	var err error
	if c.Principal, c.Unknown, err = h.findPrincipal(ctx); err != nil || c.Unknown != "" {
		return c, err
	}
	for _, s := range d.Statement {
		denied, err := h.simulateStatement(ctx, c.Principal, s)
		if why := refusalText(err, c.Principal); why != "" {
			return CheckResult{Principal: c.Principal, Unknown: why}, nil
		}
		if err != nil {
			return c, err
		}
		c.Pairs += len(checkedActions(s)) * len(s.Resource)
		c.addDenied(s, denied)
	}
	slices.SortStableFunc(c.Denied, func(a, b Denied) int {
		switch {
		case a.Optional == b.Optional:
			return 0
		case a.Optional:
			return 1
		}
		return -1
	})
	return c, nil
}

// checkedActions returns the actions of a statement that need a permission.
func checkedActions(s policy.Statement) []string {
	return slices.DeleteFunc(slices.Clone(s.Action), func(a string) bool { return slices.Contains(permissionFree, a) })
}

// addDenied records the denied actions of a statement, and the statement that would allow them.
func (c *CheckResult) addDenied(s policy.Statement, denied []Denied) {
	if len(denied) == 0 {
		return
	}
	c.Denied = append(c.Denied, denied...)
	s.Action, s.Resource = nil, nil
	for _, d := range denied {
		s.Action, s.Resource = append(s.Action, d.Action), append(s.Resource, d.Resource)
	}
	for _, list := range []*[]string{&s.Action, &s.Resource} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	c.Missing.Statement = append(c.Missing.Statement, s)
}

// simulateStatement simulates one statement, page by page.
func (h Checker) simulateStatement(ctx context.Context, principal string, s policy.Statement) (denied []Denied,
	err error) {
	in := &awsiam.SimulatePrincipalPolicyInput{PolicySourceArn: aws.String(principal), ActionNames: checkedActions(s),
		ContextEntries: contextOf(s)}
	if len(in.ActionNames) == 0 {
		return nil, nil
	}
	examples := map[string]string{} // resource of the simulation -> of the policy
	for _, r := range s.Resource {
		if r != "*" {
			examples[exampleResource(r)] = r
			in.ResourceArns = append(in.ResourceArns, exampleResource(r))
		}
	}
	for {
		out, err := h.IAM.SimulatePrincipalPolicy(ctx, in)
		if err != nil {
			return nil, err
		}
		for _, r := range out.EvaluationResults {
			denied = append(denied, listDenied(r, s, examples)...)
		}
		if in.Marker = out.Marker; !out.IsTruncated || aws.ToString(in.Marker) == "" {
			return denied, nil
		}
	}
}

// listDenied returns the denied actions of one evaluation result. If IAM returns decisions per
// resource, they count. The result's own decision then has no resource and is the strictest of them
// (IAM API Reference, EvaluationResult).
func listDenied(r iamtypes.EvaluationResult, s policy.Statement, examples map[string]string) (all []Denied) {
	deny := func(resource string, decision iamtypes.PolicyEvaluationDecisionType,
		boundary *iamtypes.PermissionsBoundaryDecisionDetail) {
		if decision != iamtypes.PolicyEvaluationDecisionTypeAllowed {
			by, elsewhere := denialReason(r, decision, boundary)
			action := aws.ToString(r.EvalActionName)
			all = append(all, Denied{Action: action, Resource: resource, Decision: string(decision), By: by,
				Elsewhere: elsewhere, Optional: s.IsOptional()})
		}
	}
	for _, one := range r.ResourceSpecificResults {
		if resource, ok := examples[aws.ToString(one.EvalResourceName)]; ok {
			deny(resource, one.EvalResourceDecision, one.PermissionsBoundaryDecisionDetail)
		}
	}
	if len(r.ResourceSpecificResults) == 0 {
		for _, resource := range s.Resource {
			deny(resource, r.EvalDecision, r.PermissionsBoundaryDecisionDetail)
		}
	}
	return all
}

// denialReason says what denies an action, for people. elsewhere reports that a statement that
// allows the action is not enough.
func denialReason(r iamtypes.EvaluationResult, decision iamtypes.PolicyEvaluationDecisionType,
	boundary *iamtypes.PermissionsBoundaryDecisionDetail) (by string, elsewhere bool) {
	switch {
	case r.OrganizationsDecisionDetail != nil && !r.OrganizationsDecisionDetail.AllowedByOrganizations:
		return "a policy of the organization does not allow it", true
	case boundary != nil && !boundary.AllowedByPermissionsBoundary:
		return "the permissions boundary does not allow it", true
	case decision == iamtypes.PolicyEvaluationDecisionTypeExplicitDeny:
		return "a statement denies it; a deny overrides every allow", true
	}
	return "no statement allows it", false
}

// contextOf returns the condition values of the calls: those of the statement, and the cluster,
// which other policies often name.
func contextOf(s policy.Statement) (all []iamtypes.ContextEntry) {
	add := func(key, value string) {
		all = append(all, iamtypes.ContextEntry{ContextKeyName: aws.String(key),
			ContextKeyType: iamtypes.ContextKeyTypeEnumString, ContextKeyValues: []string{value}})
	}
	for _, values := range s.Condition {
		for _, key := range slices.Sorted(maps.Keys(values)) {
			add(key, values[key])
		}
	}
	for _, r := range s.Resource {
		// arn:aws:ecs:<Region>:<account>:<type>/<cluster>/<name>
		parts := strings.Split(r, ":")
		if len(parts) != 6 || parts[2] != "ecs" {
			continue
		}
		if names := strings.Split(parts[5], "/"); len(names) > 2 {
			add("ecs:cluster", strings.Join(append(slices.Clone(parts[:5]), "cluster/"+names[1]), ":"))
			break
		}
	}
	return all
}

// exampleResource returns a resource that matches a pattern. IAM reads an asterisk in a resource as
// a literal character.
func exampleResource(pattern string) string { return strings.ReplaceAll(pattern, "*", "1") }
