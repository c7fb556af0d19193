// Package sts implements the API of AWS Security Token Service: caller identity, and temporary
// credentials of any account. The server recognizes the credentials that it issued; they act in the
// role's account.
//
// It does not simulate IAM: every role exists, every caller may assume it, and policies are not
// read. Sessions do not expire, because clients judge expiry by real time, which is not the
// world's.
//
// Start reading at [Service.AssumeRole], then session.go.
package sts

import (
	"context"
	"strings"

	awssts "github.com/aws/aws-sdk-go-v2/service/sts"
	ststypes "github.com/aws/aws-sdk-go-v2/service/sts/types"
	smithy "github.com/aws/smithy-go"

	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// Service implements the API of STS.
type Service struct{ world *world.World }

// New creates the API over w.
func New(w *world.World) *Service { return &Service{world: w} }

// NewAPI returns the API in the form that wire serves.
func NewAPI(w *world.World) wire.API {
	return wire.API{
		Name: "sts", ServiceID: "STS", Protocol: wire.Query, Version: "2011-06-15",
		Namespace: "https://sts.amazonaws.com/doc/2011-06-15/", Service: New(w),
		Names:    map[string]string{"PolicyDescriptorType.Arn": "arn"},
		Unsigned: []string{"AssumeRoleWithWebIdentity", "AssumeRoleWithSAML"},
		Known: []string{"AssumeRoleWithSAML", "AssumeRoot", "DecodeAuthorizationMessage", "GetDelegatedAccessToken",
			"GetFederationToken", "GetWebIdentityToken"},
		Errors: []smithy.APIError{&ststypes.ExpiredTokenException{}, &ststypes.IDPCommunicationErrorException{},
			&ststypes.IDPRejectedClaimException{}, &ststypes.InvalidAuthorizationMessageException{},
			&ststypes.InvalidIdentityTokenException{}, &ststypes.MalformedPolicyDocumentException{},
			&ststypes.PackedPolicyTooLargeException{}, &ststypes.RegionDisabledException{}},
		Identify:  identifyCaller,
		Violation: "ValidationError", Constraints: constraints(),
	}
}

// GetCallerIdentity returns the assumed role of the caller's credentials, or the account's user
// "sluice".
func (s *Service) GetCallerIdentity(ctx context.Context,
	_ *awssts.GetCallerIdentityInput) (*awssts.GetCallerIdentityOutput, error) {
	key, c := world.KeyOf(ctx), wire.CallerOf(ctx)
	arn, id := c.ARN, c.UserID
	if arn == "" {
		arn, id = userARN(key), uniqueID("AIDA", userARN(key))
	}
	return &awssts.GetCallerIdentityOutput{Account: &key.Account, Arn: &arn, UserId: &id}, nil
}

// AssumeRole issues credentials of the role's account.
func (s *Service) AssumeRole(ctx context.Context, in *awssts.AssumeRoleInput) (*awssts.AssumeRoleOutput, error) {
	seconds := secondsOr(in.DurationSeconds, 3600)
	if wire.CallerOf(ctx).ARN != "" && seconds > 3600 {
		return nil,
			world.Refuse("ValidationError",
				"The requested DurationSeconds exceeds the 1 hour session limit for roles assumed by role chaining")
	}
	r, err := readRole(in.RoleArn, in.RoleSessionName)
	if err != nil {
		return nil, err
	}
	return &awssts.AssumeRoleOutput{Credentials: s.issueCredentials(ctx, r.account, r.sessionARN(), r.sessionID(),
		seconds),
		AssumedRoleUser: r.assumedRoleUser(), SourceIdentity: in.SourceIdentity}, nil
}

// AssumeRoleWithWebIdentity issues credentials of the role's account for any JSON Web Token. The
// token's signature and issuer are not verified. The call needs no signature.
func (s *Service) AssumeRoleWithWebIdentity(ctx context.Context,
	in *awssts.AssumeRoleWithWebIdentityInput) (*awssts.AssumeRoleWithWebIdentityOutput, error) {
	seconds := secondsOr(in.DurationSeconds, 3600)
	r, err := readRole(in.RoleArn, in.RoleSessionName)
	if err != nil {
		return nil, err
	}
	claims, ok := readClaims(*in.WebIdentityToken)
	if !ok {
		return nil, world.Refuse("InvalidIdentityTokenException",
			"The ID Token provided is not a valid JWT. (You may see this error if you sent an Access Token)")
	}
	return &awssts.AssumeRoleWithWebIdentityOutput{Credentials: s.issueCredentials(ctx, r.account, r.sessionARN(),
		r.sessionID(), seconds),
		AssumedRoleUser: r.assumedRoleUser(), Audience: &claims.audience, Provider: &claims.issuer,
		SubjectFromWebIdentityToken: &claims.subject}, nil
}

// GetSessionToken issues temporary credentials of the caller's own user.
func (s *Service) GetSessionToken(ctx context.Context, in *awssts.GetSessionTokenInput) (*awssts.GetSessionTokenOutput,
	error) {
	if strings.HasPrefix(wire.CallerOf(ctx).AccessKey, "ASIA") {
		return nil,
			&world.Refusal{Code: "AccessDenied", Message: "Cannot call GetSessionToken with session credentials",
				Status: 403}
	}
	seconds := secondsOr(in.DurationSeconds, 43200)
	account := world.KeyOf(ctx).Account
	return &awssts.GetSessionTokenOutput{Credentials: s.issueCredentials(ctx, account, "", "", seconds)}, nil
}

// GetAccessKeyInfo returns the account of an access key.
func (s *Service) GetAccessKeyInfo(_ context.Context, in *awssts.GetAccessKeyInfoInput) (*awssts.GetAccessKeyInfoOutput,
	error) {
	account, ok := accountOfKey(*in.AccessKeyId)
	if !ok {
		return nil, world.Refuse("ValidationError", "Invalid Access Key ID: %s", *in.AccessKeyId)
	}
	return &awssts.GetAccessKeyInfoOutput{Account: &account}, nil
}
