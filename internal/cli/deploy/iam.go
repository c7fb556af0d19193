package deploy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/cli/show"
	"github.com/sluice-ecs/sluice/internal/iam"
	"github.com/sluice-ecs/sluice/internal/policy"
)

// checkPlanFlags returns an error if --check is given without --iam.
func checkPlanFlags(s planOutput) error {
	if s.check && !s.iam {
		return &sluice.Error{Op: "sluice plan", Err: errors.New("--check needs --iam"),
			Next: "run sluice plan --iam --check"}
	}
	return nil
}

// showPolicy prints the IAM policy that a plan needs. With check it prints instead which of these
// permissions the caller lacks.
func (p *program) showPolicy(ctx context.Context, pre *preparedPlan, check bool) error {
	d, err := policy.ForPlan(pre.plan, pre.state)
	if err != nil {
		return err
	}
	if check {
		return p.checkPolicy(ctx, pre, d)
	}
	return writePolicy(p.Env.Out, d)
}

func writePolicy(w io.Writer, d policy.Document) error {
	text, err := d.Text()
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, text)
	return err
}

// checkPolicy checks with IAM which permissions the caller lacks. The exit code is that of a
// refusal if any are denied. If AWS does not allow the check itself, the exit code is 0.
func (p *program) checkPolicy(ctx context.Context, pre *preparedPlan, d policy.Document) error {
	c, err := iam.Checker{IAM: account.IAM(pre.account), STS: pre.account.STS()}.Check(ctx, d)
	if err != nil {
		return fmt.Errorf("check the permissions: %w", err)
	}
	if p.Flags.Output == session.JSON {
		err = show.WriteJSON(p.Env.Out, newCheckView(c))
	} else {
		err = writeCheck(p.Env.Out, c)
	}
	if err == nil && c.DeniesNeeded() {
		return session.ExitStatus(sluice.ExitDenied)
	}
	return err
}

// writeCheck prints the denied permissions, one for each line, and the policy that would allow
// them.
func writeCheck(w io.Writer, c iam.CheckResult) error {
	if c.Unknown != "" {
		_, err := fmt.Fprintf(w, "the permissions are not checked: %s\n", c.Unknown)
		return err
	}
	if len(c.Denied) == 0 {
		_, err := fmt.Fprintf(w, "%s may do everything that the deployment needs (%s checked)\n", c.Principal,
			sluice.Plural(c.Pairs, "permission"))
		return err
	}
	var b strings.Builder
	for _, x := range c.Denied {
		by := x.By
		if x.Optional {
			by += "; optional: without it only the request figures are missing"
		}
		fmt.Fprintf(&b, "denied: %s on %s (%s)\n", x.Action, x.Resource, by)
	}
	fmt.Fprintf(&b, "%d of %s are denied to %s", len(c.Denied), sluice.Plural(c.Pairs, "permission"), c.Principal)
	if slices.ContainsFunc(c.Denied, func(x iam.Denied) bool { return x.Elsewhere }) {
		b.WriteString("; if a Deny, a permissions boundary or the organization denies one, change that too")
	}
	b.WriteString("; this policy allows them:\n")
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	return writePolicy(w, c.Missing)
}

// checkSchema names the format of a check in JSON.
const checkSchema = "sluice.permissions/1"

// checkView is a check in JSON.
type checkView struct {
	Schema    string           `json:"schema"`
	Principal string           `json:"principal,omitempty"`
	Checked   int              `json:"checked"`
	Unknown   string           `json:"unknown,omitempty"` // why the check was not possible
	Denied    []iam.Denied     `json:"denied"`
	Policy    *policy.Document `json:"policy,omitempty"` // allows what is denied
}

func newCheckView(c iam.CheckResult) checkView {
	v := checkView{Schema: checkSchema, Principal: c.Principal, Checked: c.Pairs, Unknown: c.Unknown, Denied: c.Denied}
	if len(c.Denied) > 0 {
		v.Policy = &c.Missing
	} else {
		v.Denied = []iam.Denied{}
	}
	return v
}
