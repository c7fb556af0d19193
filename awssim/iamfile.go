package awssim

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice/awssim/iam"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// principalFile is a user or a role of IAM with its permissions.
type principalFile struct {
	ARN      string   `yaml:"arn"`      // of a user or a role, with its path
	Policies []string `yaml:"policies"` // policy documents in JSON; they are simulated, never enforced
	Boundary string   `yaml:"boundary"` // the permissions boundary, a policy document in JSON
	// Trusts are the services that may assume a role, such as ecs-tasks.amazonaws.com.
	Trusts []string `yaml:"trusts"`
}

// roleFile is a role of the world's account without policies.
type roleFile struct {
	Name   string   `yaml:"name"`   // with its path
	Trusts []string `yaml:"trusts"` // the services that may assume it
}

var principalForm = regexp.MustCompile(`^arn:aws[a-z-]*:iam::\d{12}:(user|role)/[\w+=,.@/-]+$`)

// checkPrincipals reads the policies.
func (f *worldFile) checkPrincipals() error {
	for i, p := range f.Principals {
		at := fmt.Sprintf("principals[%d]", i)
		if !principalForm.MatchString(p.ARN) {
			return invalidAt(at, "%q is not the ARN of a user or a role", p.ARN)
		}
		out := iam.Principal{ARN: p.ARN, Trusts: p.Trusts}
		for j, text := range p.Policies {
			policy, err := iam.Parse(text)
			if err != nil {
				return invalidAt(fmt.Sprintf("%s.policies[%d]", at, j), "%w", err)
			}
			out.Policies = append(out.Policies, policy)
		}
		if p.Boundary != "" {
			policy, err := iam.Parse(p.Boundary)
			if err != nil {
				return invalidAt(at+".boundary", "%w", err)
			}
			out.Boundary = &policy
		}
		f.principals = append(f.principals, out)
	}
	return f.checkRoles()
}

// checkRoles checks the names of the roles.
func (f *worldFile) checkRoles() error {
	for i, p := range f.rolesOf(world.Key{Account: "123456789012", Region: "us-east-1"}) {
		if !principalForm.MatchString(p.ARN) {
			return invalidAt(fmt.Sprintf("roles[%d].name", i), "%q is not the name of a role", f.Roles[i].Name)
		}
	}
	return nil
}

// rolesOf returns the roles in the account.
func (f *worldFile) rolesOf(at world.Key) (all []iam.Principal) {
	for _, r := range f.Roles {
		all = append(all, iam.Principal{ARN: fmt.Sprintf("arn:%s:iam::%s:role/%s", at.Partition(), at.Account, r.Name),
			Trusts: r.Trusts})
	}
	return all
}

// knownRoles returns the ARNs of the roles that exist, if the world's file names roles: those, the principals that are
// roles, and the execution role that the world's own services have. Otherwise, every role exists.
func knownRoles(roles, principals []iam.Principal) (arns []string) {
	if len(roles) == 0 {
		return nil
	}
	for _, p := range append(slices.Clone(roles), principals...) {
		arns = append(arns, p.ARN)
	}
	account, _, _ := strings.Cut(roles[0].ARN, "role/")
	return append(arns, account+ownExecutionRole)
}
