package terraform

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/printable"
	"github.com/sluice-ecs/sluice/internal/watch"
)

// connection is what a configured provider gives its resources and data sources. It is safe for
// concurrent use: Terraform runs several at a time.
type connection struct {
	config  account.Config
	scaled  bool
	unknown []string // configuration that is known only after an apply
	judge   *watch.Judge

	mu      sync.Mutex
	account *account.Account // nil: not opened yet
}

// newConnection returns a connection. It calls nothing.
func newConnection(m providerModel, getenv func(string) string) (*connection, error) {
	n := &connection{}
	known := func(name string, s types.String) string {
		if s.IsUnknown() {
			n.unknown = append(n.unknown, name)
		}
		return s.ValueString()
	}
	n.config = account.Config{Region: known("region", m.Region), Profile: known("profile", m.Profile),
		EndpointURL: known("endpoint", m.Endpoint)}
	if m.AssumeRole != nil {
		n.config.AssumeRole = known("assume_role.role_arn", m.AssumeRole.RoleARN)
		n.config.SessionName = known("assume_role.session_name", m.AssumeRole.SessionName)
	}
	var err error
	n.config.Clock, n.scaled, err = account.ProcessClock(func(name string) string {
		if name == "AWS_ENDPOINT_URL" && n.config.EndpointURL != "" {
			return n.config.EndpointURL
		}
		return getenv(name)
	})
	if err != nil {
		return nil, err
	}
	n.judge = watch.NewJudge(n.config, n.scaled)
	return n, nil
}

// clock returns the clock of the provider.
func (n *connection) clock() clock.Clock { return n.config.Clock }

// checkKnown returns an error if the configuration of the provider is not known yet.
func (n *connection) checkKnown() error {
	if len(n.unknown) == 0 {
		return nil
	}
	return &sluice.Error{Op: "open AWS account",
		Err:  errors.New("the provider's " + strings.Join(n.unknown, " and ") + " is known only after an apply"),
		Next: "set it to a value that is known when Terraform plans"}
}

// open returns the account. It opens it once, and again if that failed.
func (n *connection) open(ctx context.Context) (*account.Account, error) {
	if err := n.checkKnown(); err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.account != nil {
		return n.account, nil
	}
	a, err := account.Open(ctx, n.config)
	if err == nil && n.scaled {
		err = a.SpeedAllowed()
	}
	if err != nil {
		return nil, err
	}
	n.account = a
	return a, nil
}

// connectionOf returns the connection that Configure of the provider prepared. It is nil while
// Terraform only validates.
func connectionOf(data any) *connection {
	n, _ := data.(*connection)
	return n
}

// flagWords replaces the flags of the command line in an advice with the provider's attributes.
var flagWords = strings.NewReplacer(
	"check --cluster, --service and --region", "check cluster, service and the region of the provider",
	"give --region", "set region in the provider",
	"set --region", "set region in the provider to",
	"give --profile", "set profile in the provider",
	"set --profile", "set profile in the provider",
	"--assume-role", "assume_role in the provider",
	"set by --endpoint-url", "set by endpoint in the provider",
	"point --endpoint-url at", "set endpoint in the provider to",
)

// addError adds an error of sluice, with its advice.
func addError(to *diag.Diagnostics, summary string, err error) {
	to.AddError(summary, errorText(err))
}

// errorText returns an error and its advice in the words of Terraform.
func errorText(err error) string {
	text := err.Error()
	if next := sluice.NextStep(err); next != "" {
		text += "\nnext: " + next
	}
	return flagWords.Replace(printable.Text(text))
}
