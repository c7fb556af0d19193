package verify

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// trustAdvice returns the next step for a role that its service may not assume. It names no command that changes the
// role: IAM replaces the whole trust policy, with which running tasks or another service may assume it.
func trustAdvice(role Role) string {
	next := "name another role, which " + role.Trusts + " may assume"
	if p := managedPolicyOf(role.Use); p != "" {
		next += ", such as one with the policy " + p
	}
	return next
}

// managedPolicyOf returns AWS's own policy for a use of a role, or "" (ECS Developer Guide, "AWS managed policies for
// Amazon Elastic Container Service").
func managedPolicyOf(use string) string {
	switch use {
	case "execution role":
		return "AmazonECSTaskExecutionRolePolicy"
	case "load balancer role":
		return "AmazonECSInfrastructureRolePolicyForLoadBalancers"
	case "volume role":
		return "AmazonECSInfrastructureRolePolicyForVolumes"
	}
	return ""
}

// oneOrMore is a text or a list of texts, as policies have them.
type oneOrMore []string

func (l *oneOrMore) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*l = oneOrMore{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(l))
}

// trustPolicy is the trust policy of a role.
type trustPolicy []trustStatement

// trustStatement is a statement of a trust policy.
type trustStatement struct {
	Effect    string
	Action    oneOrMore
	Principal json.RawMessage
}

// parseTrust parses a trust policy as IAM returns it.
func parseTrust(document string) (trustPolicy, error) {
	text, err := url.PathUnescape(document)
	if err != nil {
		return nil, err
	}
	var policy struct{ Statement json.RawMessage }
	if err := json.Unmarshal([]byte(text), &policy); err != nil {
		return nil, err
	}
	var all trustPolicy
	if json.Unmarshal(policy.Statement, &all) != nil {
		all = make(trustPolicy, 1)
		if err := json.Unmarshal(policy.Statement, &all[0]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// allows reports whether the policy lets a service assume the role. It does not evaluate conditions.
func (p trustPolicy) allows(service string) bool {
	return slices.ContainsFunc(p, func(s trustStatement) bool { return s.allows(service) })
}

func (s trustStatement) allows(service string) bool {
	assumes := slices.ContainsFunc(s.Action, func(a string) bool {
		return a == "*" || strings.EqualFold(a, "sts:*") || strings.EqualFold(a, "sts:AssumeRole")
	})
	var who struct{ Service oneOrMore }
	return s.Effect == "Allow" && assumes && json.Unmarshal(s.Principal, &who) == nil &&
		slices.Contains(who.Service, service)
}
