package iam

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
)

const (
	decisionAllowed = iamtypes.PolicyEvaluationDecisionTypeAllowed
	implicitDeny    = iamtypes.PolicyEvaluationDecisionTypeImplicitDeny
	explicitDeny    = iamtypes.PolicyEvaluationDecisionTypeExplicitDeny
)

// actionQuery is one action on one resource.
type actionQuery struct {
	action, resource string
	context          map[string][]string // by key in lower case
}

// policyDecision is the result of policies for an action query.
type policyDecision struct {
	decision iamtypes.PolicyEvaluationDecisionType
	by       []string // Sids, or numbers, of the statements that decided
	missing  []string // context keys that conditions need and the request lacks
	boundary *iamtypes.PermissionsBoundaryDecisionDetail
}

func (v policyDecision) matchedStatements() (all []iamtypes.Statement) {
	for _, by := range v.by {
		all = append(all, iamtypes.Statement{SourcePolicyId: aws.String(by),
			SourcePolicyType: iamtypes.PolicySourceTypeUserManaged})
	}
	return all
}

// decideQuestion applies the rules of IAM: a Deny precedes any Allow, the default is an implicit
// deny, and a boundary only limits the policies (IAM User Guide, "Policy evaluation logic").
func (p Principal) decideQuestion(q actionQuery) policyDecision {
	v := evaluatePolicies(p.Policies, q)
	if p.Boundary == nil {
		return v
	}
	b := evaluatePolicies([]Policy{*p.Boundary}, q)
	v.boundary = &iamtypes.PermissionsBoundaryDecisionDetail{AllowedByPermissionsBoundary: b.decision == decisionAllowed}
	if v.decision == decisionAllowed && b.decision != decisionAllowed {
		v.decision, v.by = b.decision, b.by
	}
	return v
}

func evaluatePolicies(policies []Policy, q actionQuery) policyDecision {
	v := policyDecision{decision: implicitDeny}
	var denies, allows []string
	for _, p := range policies {
		for _, s := range p.Statement {
			fits, missing := s.matchesQuestion(q)
			for _, k := range missing {
				if !slices.Contains(v.missing, k) {
					v.missing = append(v.missing, k)
				}
			}
			switch {
			case !fits:
			case s.Effect == "Deny":
				denies = append(denies, s.Sid)
			default:
				allows = append(allows, s.Sid)
			}
		}
	}
	switch {
	case len(denies) > 0:
		v.decision, v.by = explicitDeny, denies[:1]
	case len(allows) > 0:
		v.decision, v.by = decisionAllowed, allows
	}
	return v
}

// matchesQuestion reports whether a statement applies to the question. missing are the context keys
// that its conditions need and the request lacks.
func (s Statement) matchesQuestion(q actionQuery) (fits bool, missing []string) {
	action := s.Action.matchesAny(q.action, strings.ToLower)
	if len(s.NotAction) > 0 {
		action = !s.NotAction.matchesAny(q.action, strings.ToLower)
	}
	resource := s.Resource.matchesAny(q.resource, exactText)
	if len(s.NotResource) > 0 {
		resource = !s.NotResource.matchesAny(q.resource, exactText)
	}
	if !action || !resource {
		return false, nil
	}
	fits = true
	for operator, keys := range s.Condition {
		for key, want := range keys {
			have, given := q.context[strings.ToLower(key)]
			if !given {
				missing = append(missing, key)
			}
			fits = fits && conditionHolds(operator, want, have, given)
		}
	}
	slices.Sort(missing)
	return fits, missing
}

func exactText(s string) string { return s }

// matchesAny reports whether one of the patterns matches.
func (l list) matchesAny(s string, fold func(string) string) bool {
	return slices.ContainsFunc(l, func(pattern string) bool { return matchesPattern(fold(pattern), fold(s)) })
}

// conditionOperators are the condition operators that are simulated. With IfExists, a missing key
// matches.
var conditionOperators = map[string]func(want, have string) bool{
	"StringEquals":    func(w, h string) bool { return w == h },
	"StringNotEquals": func(w, h string) bool { return w != h },
	"StringLike":      matchesPattern, "StringNotLike": func(w, h string) bool { return !matchesPattern(w, h) },
	"ArnEquals": matchesPattern, "ArnLike": matchesPattern,
	"ArnNotEquals": func(w, h string) bool { return !matchesPattern(w, h) },
	"ArnNotLike":   func(w, h string) bool { return !matchesPattern(w, h) },
}

// conditionHolds reports whether a condition is met: one of the values must match; for a negated
// operator, all must. A missing key meets only negated operators.
func conditionHolds(operator string, want, have list, given bool) bool {
	name, ifExists := strings.CutSuffix(operator, "IfExists")
	negated := strings.Contains(name, "Not")
	if !given {
		return ifExists || negated
	}
	for _, h := range have {
		if negated {
			if !slices.ContainsFunc(want, func(w string) bool { return !conditionOperators[name](w, h) }) {
				continue
			}
			return false
		}
		if slices.ContainsFunc(want, func(w string) bool { return conditionOperators[name](w, h) }) {
			return true
		}
	}
	return negated
}

// matchesPattern reports whether s matches a pattern with * and ?.
func matchesPattern(pattern, s string) bool {
	for pattern != "" {
		switch {
		case pattern[0] == '*':
			for i := 0; i <= len(s); i++ {
				if matchesPattern(pattern[1:], s[i:]) {
					return true
				}
			}
			return false
		case s == "" || pattern[0] != '?' && pattern[0] != s[0]:
			return false
		}
		pattern, s = pattern[1:], s[1:]
	}
	return s == ""
}
