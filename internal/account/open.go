package account

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssts "github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/middleware"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/clock"
)

// Config says which account and Region, and what the gate runs on.
//
// With both Region and Credentials given, nothing is read from the environment
// or from shared files; that is how a rehearsal stays the same on every machine,
// and it is the only way to run on a virtual clock: the SDK's own chain waits in
// real time.
type Config struct {
	Region     string // "us-east-1"; empty: as the SDK finds it
	Profile    string // of the shared config files; empty: AWS_PROFILE or default
	AssumeRole string // ARN of a role to take on over the credentials found

	// CredentialsFile is read instead of the shared credentials file; empty: as the
	// SDK finds it.
	CredentialsFile string
	// TokenFile holds a web identity token with which AssumeRole is taken on,
	// without any other credentials. It is read anew each time.
	TokenFile string

	EndpointURL string // for every service; empty: AWS_ENDPOINT_URL… or AWS itself

	SessionName string // of the assumed role; empty: "sluice-<role name>"

	HTTPClient  aws.HTTPClient          // nil: the SDK's
	Credentials aws.CredentialsProvider // nil: the SDK's chain
	Clock       clock.Clock             // required
	Draw        func() float64          // jitter in [0,1); nil: always the longest wait
	Limits      *Limits                 // shared by all accounts of the process; nil: its own

	APIOptions []func(*middleware.Stack) error // added to every client after the gate, so inside each attempt
	OnCall     func(Call)                      // told after each attempt; may be called from several goroutines
	// OnSilence is told when AWS has not answered for a while, and when it answers
	// again, by calls that are not patient. May be called from several goroutines.
	OnSilence func(sluice.Unanswered)
}

// Account holds the clients of one AWS account and Region. It is safe for use by
// several goroutines.
type Account struct {
	region   string
	endpoint string
	clients

	mu sync.Mutex
	id string
}

// Open finds Region, credentials and endpoint, and builds the clients. It calls
// AWS only as far as the SDK's credential chain does; a role under AssumeRole is
// taken on with the first call. Every error is a *[sluice.Error].
func Open(ctx context.Context, c Config) (*Account, error) {
	if c.Clock == nil {
		return nil, &sluice.Error{Op: "open AWS account", Err: errors.New("no clock given")}
	}
	if c.Limits == nil {
		c.Limits = NewLimits()
	}
	if err := checkEndpoint(c.EndpointURL); err != nil {
		return nil, err
	}
	shared, err := c.load(ctx)
	if err != nil {
		return nil, err
	}
	if err := checkRegion(shared.Region); err != nil {
		return nil, err
	}
	who, err := source(ctx, shared)
	if err != nil {
		return nil, err
	}
	return c.build(shared, who), nil
}

func (c Config) build(shared aws.Config, who string) *Account {
	if role := roleAccount(c.AssumeRole); role != "" {
		who = "account " + role
	}
	b := builder{
		shared: shared,
		forced: c.EndpointURL,
		extra:  c.APIOptions,
		gate: gate{clock: c.Clock, draw: c.Draw, limits: c.Limits, owner: who + " " + shared.Region, onCall: c.OnCall, credentials: shared.Credentials,
			silence: &silence{}, onSilence: c.OnSilence},
	}
	if c.AssumeRole != "" && c.TokenFile == "" {
		b.take(&role{arn: c.AssumeRole, session: c.sessionName(c.AssumeRole), clock: c.Clock, sts: b.sts()})
	}
	return &Account{region: shared.Region, endpoint: aws.ToString(shared.BaseEndpoint), clients: b.all()}
}

// Region is the Region of every client.
func (a *Account) Region() string { return a.region }

// Endpoint is the custom endpoint of all services, or "" for AWS's own.
func (a *Account) Endpoint() string { return a.endpoint }

// ID is the account number, asked of STS once.
func (a *Account) ID(ctx context.Context) (string, error) {
	if id := a.known(); id != "" {
		return id, nil
	}
	out, err := a.STS().GetCallerIdentity(ctx, &awssts.GetCallerIdentityInput{})
	if err != nil {
		return "", err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.id = aws.ToString(out.Account)
	return a.id, nil
}

func (a *Account) known() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.id
}

// source makes sure that there are credentials and tells whose they are: one
// name for all that share AWS's rates, as far as it can be known without a call.
func source(ctx context.Context, shared aws.Config) (string, error) {
	if shared.Credentials == nil {
		return "", noCredentials(errors.New("none found"))
	}
	got, err := shared.Credentials.Retrieve(ctx)
	if err != nil {
		return "", noCredentials(err)
	}
	if got.AccountID != "" {
		return "account " + got.AccountID, nil
	}
	return "key " + got.AccessKeyID, nil
}

var regionShape = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

func checkRegion(region string) error {
	const next = "give --region, set AWS_REGION, or set region in the profile"
	if region == "" {
		return &sluice.Error{Op: "open AWS account", Kind: sluice.Denied, Err: errors.New("no Region given"), Next: next}
	}
	if !regionShape.MatchString(region) {
		return &sluice.Error{Op: "open AWS account", Err: fmt.Errorf("%q is not a Region's name", region), Next: next}
	}
	return nil
}

func noCredentials(err error) error {
	kind := sluice.KindOf(err)
	if kind == "" {
		kind = sluice.Denied
	}
	next := sluice.NextStep(err)
	if next == "" {
		next = "log in (aws sso login, aws login), set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give --profile"
	}
	return &sluice.Error{Op: "find AWS credentials", Kind: kind, Err: err, Next: next}
}

// Endpoints are the endpoints of all clients without doubles; "" stands for
// AWS's own.
func (a *Account) Endpoints() []string {
	all := slices.Clone(a.endpoints)
	slices.Sort(all)
	return slices.Compact(all)
}

// SpeedAllowed refuses a scaled clock unless every service is on this machine.
func (a *Account) SpeedAllowed() error {
	for _, e := range a.Endpoints() {
		if err := SpeedAllowed(e); err != nil {
			return err
		}
	}
	return nil
}
