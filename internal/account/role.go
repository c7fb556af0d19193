package account

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssts "github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/clock"
)

const (
	roleDuration     = time.Hour       // requested from STS; the longest for a role assumed from a role
	roleRenewBefore  = 5 * time.Minute // before the end, one caller renews while others continue
	roleRetryPause   = time.Minute     // after a renewal that failed
	rolePollInterval = 50 * time.Millisecond
)

// role provides the credentials of an assumed role. It requests them through the gate and keeps
// them until shortly before they expire by the injected clock.
//
// The SDK's cache waits in a goroutine of its own, so it is not used. Here one caller requests the
// credentials and the others wait on the clock, so that a virtual clock can run.
type role struct {
	arn, session string
	clock        clock.Clock
	sts          *awssts.Client

	mu              sync.Mutex // not locked during a call
	current         aws.Credentials
	asking          bool
	noRenewalBefore time.Time // no renewal before this
}

// Retrieve returns the current credentials, or assumes the role.
func (r *role) Retrieve(ctx context.Context) (aws.Credentials, error) {
	for {
		have, ask := r.chooseCredentials()
		if ask {
			return r.assumeRole(ctx)
		}
		if have.HasKeys() {
			return have, nil
		}
		if err := r.clock.Sleep(ctx, rolePollInterval); err != nil {
			return aws.Credentials{}, err
		}
	}
}

// chooseCredentials returns the credentials to use now, or ask if the caller has to request them.
// If it returns neither, the caller waits.
func (r *role) chooseCredentials() (have aws.Credentials, ask bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	left := r.current.Expires.Sub(now)
	if left > 0 {
		have = r.current
	}
	if r.asking || left > roleRenewBefore || left > 0 && now.Before(r.noRenewalBefore) {
		return have, false
	}
	r.asking = true
	return have, true
}

// assumeRole assumes the role. If that fails while the previous credentials are valid, it returns
// those.
func (r *role) assumeRole(ctx context.Context) (aws.Credentials, error) {
	defer r.endAsking()
	out, err := r.sts.AssumeRole(ctx, &awssts.AssumeRoleInput{
		RoleArn:         aws.String(r.arn),
		RoleSessionName: aws.String(r.session),
		DurationSeconds: aws.Int32(int32(roleDuration / time.Second)),
	})
	if err == nil && out.Credentials == nil {
		err = &sluice.Error{Op: "sts:AssumeRole", Resource: r.arn, Err: errors.New("the response has no credentials")}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		return r.previousCredentials(err)
	}
	r.current = aws.Credentials{
		AccessKeyID:     aws.ToString(out.Credentials.AccessKeyId),
		SecretAccessKey: aws.ToString(out.Credentials.SecretAccessKey),
		SessionToken:    aws.ToString(out.Credentials.SessionToken),
		Source:          "sluice assumed role",
		CanExpire:       true,
		Expires:         aws.ToTime(out.Credentials.Expiration),
		AccountID:       roleAccount(r.arn),
	}
	return r.current, nil
}

// previousCredentials returns the credentials that are still valid after a failed renewal. r.mu is
// locked.
func (r *role) previousCredentials(err error) (aws.Credentials, error) {
	now := r.clock.Now()
	if r.current.Expires.After(now) {
		r.noRenewalBefore = now.Add(roleRetryPause)
		return r.current, nil
	}
	return aws.Credentials{}, assumeError(r.arn, err)
}

func (r *role) endAsking() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asking = false
}

// assumeError removes the SDK's wrapping, so that the error names the role once.
func assumeError(arn string, err error) error {
	var told *sluice.Error
	if !errors.As(err, &told) {
		return &sluice.Error{Op: "assume role", Resource: arn, Err: err}
	}
	next := told.Next
	if next == "" || told.Kind == "" {
		next = "check the role's ARN, and that its trust policy lets the current identity assume it"
	}
	return &sluice.Error{Op: "assume role", Resource: arn, Kind: told.Kind, Err: told.Err, Next: next}
}

// checkRole refuses a role that is no ARN. It does not show the value: it may be another secret that
// was given by mistake.
func checkRole(role string) error {
	if role == "" || strings.HasPrefix(role, "arn:") && strings.Contains(role, ":role/") {
		return nil
	}
	return &sluice.Error{Op: "open AWS account", Err: errors.New("the role to assume is not the ARN of a role"),
		Next: "give an ARN such as arn:aws:iam::123456789012:role/deploy"}
}

// roleAccount returns the account number in a role's ARN, or "".
func roleAccount(arn string) string {
	parts := strings.SplitN(arn, ":", 6)
	if len(parts) < 6 {
		return ""
	}
	return parts[4]
}

var notInSession = regexp.MustCompile(`[^\w+=,.@-]`)

// sessionName returns the session name that CloudTrail records. It is the same in every run.
func (c Config) sessionName(arn string) string {
	name := c.SessionName
	if name == "" {
		name = "sluice-" + arn[strings.LastIndexByte(arn, '/')+1:]
	}
	name = notInSession.ReplaceAllString(name, "-")
	return name[:min(len(name), 64)]
}
