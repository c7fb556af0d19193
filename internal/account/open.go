package account

import (
	"context"
	"errors"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	awssts "github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/middleware"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/clock"
)

// Config selects the account and Region, and configures the gate.
//
// With both Region and Credentials set, sluice reads neither the environment nor shared files. A
// rehearsal then runs the same on every machine. It is also the only way to run on a virtual clock:
// the SDK's own chain waits in real time.
type Config struct {
	Region     string // "us-east-1"; empty: as the SDK finds it
	Profile    string // of the shared config files; empty: AWS_PROFILE or default
	AssumeRole string // ARN of a role to assume with the credentials found

	// CredentialsFile is read instead of the shared credentials file; empty: as the
	// SDK finds it.
	CredentialsFile string
	// TokenFile contains a web identity token for AssumeRole, without any other credentials. It is
	// read again each time.
	TokenFile string

	EndpointURL string // for every service; empty: AWS_ENDPOINT_URL… or AWS itself

	SessionName string // of the assumed role; empty: "sluice-<role name>"

	HTTPClient  aws.HTTPClient          // nil: the SDK's
	Credentials aws.CredentialsProvider // nil: the SDK's chain
	Clock       clock.Clock             // required
	Jitter      func() float64          // random number in [0,1) for waits; nil: always the longest wait
	Limits      *Limits                 // shared by all accounts of the process; nil: own limits

	APIOptions []func(*middleware.Stack) error // added to every client after the gate, so they run in each attempt
	OnCall     func(Call)                      // called after each attempt, perhaps by several goroutines
	// OnBegin is called when a call begins, perhaps by several goroutines. The returned function is
	// called when the call has ended, after its last attempt.
	OnBegin func(operation, resource string) (end func())
	// OnSilence is called when AWS has not responded for a while, and when it responds again, by
	// calls without a [LongRetry]. Several goroutines may call it.
	OnSilence func(sluice.Unanswered)
}

// Account contains the clients of one AWS account and Region. It is safe for use by several
// goroutines.
type Account struct {
	region   string
	endpoint string
	clients

	mu     sync.Mutex
	id     string
	shared map[reflect.Type]any // see Shared
}

// Open finds Region, credentials and endpoint, and builds the clients. It calls AWS only as far as
// the SDK's credential chain does; the role in AssumeRole is assumed at the first call. Every error
// is a *[sluice.Error].
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
	if err := checkRole(c.AssumeRole); err != nil {
		return nil, err
	}
	shared, err := c.loadConfig(ctx)
	if err != nil {
		return nil, err
	}
	if err := checkRegion(shared.Region); err != nil {
		return nil, err
	}
	who, err := credentialOwner(ctx, shared)
	if err != nil {
		return nil, err
	}
	return c.buildAccount(shared, who), nil
}

func (c Config) buildAccount(shared aws.Config, who string) *Account {
	if role := roleAccount(c.AssumeRole); role != "" {
		who = "account " + role
	}
	if shared.HTTPClient == nil {
		shared.HTTPClient = awshttp.NewBuildableClient()
	}
	shared.HTTPClient = sentBodies{shared.HTTPClient}
	b := clientBuilder{
		shared:       shared,
		http:         shared.HTTPClient,
		endpointFlag: c.EndpointURL,
		extra:        c.APIOptions,
		gate: gate{clock: c.Clock, jitter: c.Jitter, limits: c.Limits, owner: who + " " + shared.Region, region: shared.Region,
			onCall: c.OnCall, onBegin: c.OnBegin, credentials: shared.Credentials, profile: profileOf(shared),
			silence: &silence{}, onSilence: c.OnSilence},
	}
	if c.AssumeRole != "" && c.TokenFile == "" {
		b.useRole(&role{arn: c.AssumeRole, session: c.sessionName(c.AssumeRole), clock: c.Clock, sts: b.newSTS()})
	}
	return &Account{region: shared.Region, endpoint: aws.ToString(shared.BaseEndpoint), clients: b.buildClients()}
}

// Region returns the Region of every client.
func (a *Account) Region() string { return a.region }

// Credentials returns the credentials of every client, for requests to other systems that AWS's keys sign.
func (a *Account) Credentials() aws.CredentialsProvider { return a.builder.gate.credentials }

// Endpoint returns the custom endpoint of all services, or "" for AWS's own.
func (a *Account) Endpoint() string { return a.endpoint }

// ID returns the account number. It calls STS once.
func (a *Account) ID(ctx context.Context) (string, error) {
	if id := a.cachedID(); id != "" {
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

func (a *Account) cachedID() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.id
}

// credentialOwner checks that there are credentials and returns their owner: one name for all
// processes that share AWS's rates, as far as it is known without a call.
func credentialOwner(ctx context.Context, shared aws.Config) (string, error) {
	if shared.Credentials == nil {
		return "", noCredentialsError(errors.New("no credentials found"), "")
	}
	got, err := shared.Credentials.Retrieve(ctx)
	if err != nil {
		return "", noCredentialsError(err, profileOf(shared))
	}
	if got.AccountID != "" {
		return "account " + got.AccountID, nil
	}
	return "key " + got.AccessKeyID, nil
}

var ssoPattern = regexp.MustCompile(`(?i)\bsso\b`)

// profileOf returns the profile of the shared config files that the SDK uses; empty if it reads none.
func profileOf(shared aws.Config) string {
	for _, source := range shared.ConfigSources {
		if c, ok := source.(config.SharedConfig); ok {
			return c.Profile
		}
	}
	return ""
}

// noCredentialsError returns the error of credentials that cannot be read. The SDK names SSO in its texts if a login
// has expired; the login needs the profile.
func noCredentialsError(err error, profile string) error {
	kind := sluice.KindOf(err)
	if kind == "" {
		kind = sluice.Denied
	}
	next := sluice.NextStep(err)
	if next == "" && profile != "" && ssoPattern.MatchString(err.Error()) {
		next = "log in: aws sso login --profile " + profile
	}
	if next == "" {
		next = "log in (aws sso login, aws login), set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give --profile"
	}
	if strings.Contains(err.Error(), "no EC2 IMDS role found") {
		err = noSourceError{err}
	}
	return &sluice.Error{Op: "find AWS credentials", Kind: kind, Err: err, Next: next}
}

// noSourceError says what the SDK means by the last of the sources that it asked.
type noSourceError struct{ error }

func (noSourceError) Error() string {
	return "the environment and the files of the aws command line have none, and this machine has no role"
}

func (e noSourceError) Unwrap() error { return e.error }

// Endpoints returns the distinct endpoints of all clients; "" stands for AWS's own.
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
