package iam

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	awssts "github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/sluice-ecs/sluice"
)

// findPrincipal returns the ARN of the calling user or role, or why IAM cannot simulate the caller.
func (h Checker) findPrincipal(ctx context.Context) (arn, unknown string, err error) {
	out, err := h.STS.GetCallerIdentity(ctx, &awssts.GetCallerIdentityInput{})
	if err != nil {
		return "", "", err
	}
	caller := aws.ToString(out.Arn)
	arn, role := principalOf(caller)
	if arn == "" {
		return "", fmt.Sprintf("IAM simulates only users and roles, but the caller is %s", caller), nil
	}
	if role == "" {
		return arn, "", nil
	}
	// The ARN of a session does not contain the path of its role.
	got, err := h.IAM.GetRole(ctx, &awsiam.GetRoleInput{RoleName: aws.String(role)})
	if err == nil {
		return aws.ToString(got.Role.Arn), "", nil
	}
	if errors.Is(err, sluice.ErrNoPermission) {
		return arn, "", nil // most roles have no path
	}
	if why := refusalText(err, arn); why != "" {
		return "", why, nil
	}
	return "", "", err
}

// principalOf returns the ARN of a user, or the ARN of the role of a session with the name of the
// role. It returns "" for the account root and for federated users.
func principalOf(caller string) (arn, role string) {
	parts := strings.SplitN(caller, ":", 6)
	if len(parts) < 6 {
		return "", ""
	}
	switch kind, rest, _ := strings.Cut(parts[5], "/"); kind {
	case "user":
		return caller, ""
	case "assumed-role":
		role, _, _ = strings.Cut(rest, "/")
		return strings.Join([]string{"arn", parts[1], "iam", "", parts[4], "role/" + role}, ":"), role
	}
	return "", ""
}

// refusalText returns why IAM does not simulate the principal, in a sentence. It returns "" for
// other errors.
func refusalText(err error, principal string) string {
	var none *iamtypes.NoSuchEntityException
	switch {
	case err == nil:
		return ""
	case errors.As(err, &none):
		return fmt.Sprintf("IAM does not find %s: the ARN of a session lacks the path of its role. To read the path, "+
			"sluice needs iam:GetRole", principal)
	case errors.Is(err, sluice.ErrNoPermission):
		return fmt.Sprintf("AWS denies the simulation to %s: it needs iam:SimulatePrincipalPolicy on itself", principal)
	}
	return ""
}
