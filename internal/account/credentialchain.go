package account

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	awssts "github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/logging"

	"github.com/sluice-ecs/sluice"
)

// loadConfig returns the SDK's configuration, overridden by the flags.
func (c Config) loadConfig(ctx context.Context) (aws.Config, error) {
	if c.Credentials != nil && c.Region != "" {
		return c.explicitConfig(), nil
	}
	if err := c.checkConfigFiles(); err != nil {
		return aws.Config{}, err
	}
	shared, err := config.LoadDefaultConfig(ctx, c.loadOptions()...)
	if err != nil {
		return aws.Config{}, unreadableError(c, err)
	}
	if c.Credentials != nil {
		shared.Credentials = c.Credentials
	}
	if c.EndpointURL != "" {
		shared.BaseEndpoint = aws.String(c.EndpointURL)
	}
	if err := checkEndpoint(aws.ToString(shared.BaseEndpoint)); err != nil {
		return aws.Config{}, err
	}
	if c.TokenFile != "" && c.AssumeRole != "" {
		shared.Credentials = c.tokenCredentials(shared)
	}
	return shared, nil
}

// tokenCredentials returns the credentials of the role, assumed with the token in the file.
func (c Config) tokenCredentials(shared aws.Config) aws.CredentialsProvider {
	client := chainSTS{token: awssts.NewFromConfig(shared), attach: c.chainGate().attachToSTS}
	return aws.NewCredentialsCache(stscreds.NewWebIdentityRoleProvider(client, c.AssumeRole,
		stscreds.IdentityTokenFile(c.TokenFile),
		func(o *stscreds.WebIdentityRoleOptions) { o.RoleSessionName = c.sessionName(c.AssumeRole) }))
}

func (c Config) explicitConfig() aws.Config {
	shared := aws.Config{Region: c.Region, Credentials: c.Credentials, HTTPClient: c.HTTPClient, Logger: logging.Nop{}}
	if shared.HTTPClient == nil {
		shared.HTTPClient = awshttp.NewBuildableClient()
	}
	if c.EndpointURL != "" {
		shared.BaseEndpoint = aws.String(c.EndpointURL)
	}
	return shared
}

func (c Config) loadOptions() []func(*config.LoadOptions) error {
	options := []func(*config.LoadOptions) error{
		config.WithLogger(logging.Nop{}), // failures return as errors; log lines of the SDK would break the display
		config.WithAssumeRoleCredentialOptions(c.gateProfileRole),
		config.WithWebIdentityRoleCredentialOptions(c.gateWebIdentity),
	}
	if c.Region != "" {
		options = append(options, config.WithRegion(c.Region))
	}
	if c.Profile != "" {
		options = append(options, config.WithSharedConfigProfile(c.Profile))
	}
	if c.CredentialsFile != "" {
		options = append(options, config.WithSharedCredentialsFiles([]string{c.CredentialsFile}))
	}
	if c.HTTPClient != nil {
		options = append(options, config.WithHTTPClient(c.HTTPClient))
	}
	if c.Credentials != nil {
		options = append(options, config.WithCredentialsProvider(c.Credentials))
	}
	return options
}

// gateProfileRole puts the gate before the STS call of a profile's role_arn.
func (c Config) gateProfileRole(o *stscreds.AssumeRoleOptions) {
	if o.RoleSessionName == "" {
		o.RoleSessionName = c.sessionName(o.RoleARN)
	}
	if o.Client != nil {
		o.Client = chainSTS{profile: o.Client, attach: c.chainGate().attachToSTS}
	}
}

// gateWebIdentity puts the gate before the STS call of a CI's or pod's token.
func (c Config) gateWebIdentity(o *stscreds.WebIdentityRoleOptions) {
	if o.RoleSessionName == "" {
		o.RoleSessionName = c.sessionName(o.RoleARN)
	}
	if o.Client != nil {
		o.Client = chainSTS{token: o.Client, attach: c.chainGate().attachToSTS}
	}
}

// chainGate returns the gate for the SDK's credential chain. The chain runs before the owner of the
// rates is known.
func (c Config) chainGate() gate {
	return gate{service: "sts", clock: c.Clock, jitter: c.Jitter, limits: c.Limits, owner: "credential chain",
		onCall: c.OnCall, endpoint: c.EndpointURL,
		silence: &silence{}, onSilence: c.OnSilence}
}

func unreadableError(c Config, err error) error {
	told := &sluice.Error{Op: "read AWS configuration", Resource: c.Profile, Err: err,
		Next: "check AWS_CA_BUNDLE, AWS_CONFIG_FILE and AWS's configuration files: aws configure list"}
	var missing config.SharedConfigProfileNotExistError
	if errors.As(err, &missing) {
		return c.missingProfileError(missing.Profile)
	}
	return told
}

// chainSTS is the STS client of the SDK's credential chain, gated.
type chainSTS struct {
	profile stscreds.AssumeRoleAPIClient
	token   stscreds.AssumeRoleWithWebIdentityAPIClient
	attach  func(*awssts.Options)
}

func (c chainSTS) AssumeRole(ctx context.Context, in *awssts.AssumeRoleInput,
	options ...func(*awssts.Options)) (*awssts.AssumeRoleOutput, error) {
	return c.profile.AssumeRole(ctx, in, append(options, c.attach)...)
}

func (c chainSTS) AssumeRoleWithWebIdentity(ctx context.Context, in *awssts.AssumeRoleWithWebIdentityInput,
	options ...func(*awssts.Options)) (*awssts.AssumeRoleWithWebIdentityOutput, error) {
	return c.token.AssumeRoleWithWebIdentity(ctx, in, append(options, c.attach)...)
}
