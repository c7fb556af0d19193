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
	roleLasts   = time.Hour       // asked of STS; longest for a role taken on from a role
	roleRenew   = 5 * time.Minute // before its end, one caller renews while others go on
	rolePause   = time.Minute     // after a renewal that failed
	roleWaiting = 50 * time.Millisecond
)

// role is the credentials of an assumed role, asked for through the gate and
// kept until shortly before they end by the injected clock.
//
// It is not the SDK's cache because that waits in a goroutine of its own. Here
// one caller asks and the others wait on the clock, so a virtual clock can run.
type role struct {
	arn, session string
	clock        clock.Clock
	sts          *awssts.Client

	mu     sync.Mutex // never held across a call
	have   aws.Credentials
	asking bool
	pause  time.Time // no renewal before this
}

// Retrieve gives the credentials at hand, or takes on the role.
func (r *role) Retrieve(ctx context.Context) (aws.Credentials, error) {
	for {
		have, ask := r.turn()
		if ask {
			return r.ask(ctx)
		}
		if have.HasKeys() {
			return have, nil
		}
		if err := r.clock.Sleep(ctx, roleWaiting); err != nil {
			return aws.Credentials{}, err
		}
	}
}

// turn is what to use now, or that the caller is the one to ask. Neither: wait.
func (r *role) turn() (have aws.Credentials, ask bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	left := r.have.Expires.Sub(now)
	if left > 0 {
		have = r.have
	}
	if r.asking || left > roleRenew || left > 0 && now.Before(r.pause) {
		return have, false
	}
	r.asking = true
	return have, true
}

// ask takes on the role. If that fails while the old credentials still hold,
// they go on being used.
func (r *role) ask(ctx context.Context) (aws.Credentials, error) {
	defer r.asked()
	out, err := r.sts.AssumeRole(ctx, &awssts.AssumeRoleInput{
		RoleArn:         aws.String(r.arn),
		RoleSessionName: aws.String(r.session),
		DurationSeconds: aws.Int32(int32(roleLasts / time.Second)),
	})
	if err == nil && out.Credentials == nil {
		err = &sluice.Error{Op: "sts:AssumeRole", Resource: r.arn, Err: errors.New("the reply has no credentials")}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		return r.old(err)
	}
	r.have = aws.Credentials{
		AccessKeyID:     aws.ToString(out.Credentials.AccessKeyId),
		SecretAccessKey: aws.ToString(out.Credentials.SecretAccessKey),
		SessionToken:    aws.ToString(out.Credentials.SessionToken),
		Source:          "sluice assumed role",
		CanExpire:       true,
		Expires:         aws.ToTime(out.Credentials.Expiration),
		AccountID:       roleAccount(r.arn),
	}
	return r.have, nil
}

// old is what is still good after a failed renewal. r.mu is held.
func (r *role) old(err error) (aws.Credentials, error) {
	now := r.clock.Now()
	if r.have.Expires.After(now) {
		r.pause = now.Add(rolePause)
		return r.have, nil
	}
	return aws.Credentials{}, assumed(r.arn, err)
}

func (r *role) asked() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asking = false
}

// assumed takes the SDK's wrapping off, so that the role is named once.
func assumed(arn string, err error) error {
	var told *sluice.Error
	if !errors.As(err, &told) {
		return &sluice.Error{Op: "take on role", Resource: arn, Err: err}
	}
	next := told.Next
	if next == "" {
		next = "check the role's ARN, and that its trust policy lets the identity in use take it on"
	}
	return &sluice.Error{Op: "take on role", Resource: arn, Kind: told.Kind, Err: told.Err, Next: next}
}

// roleAccount is the account number in a role's ARN, or "".
func roleAccount(arn string) string {
	parts := strings.SplitN(arn, ":", 6)
	if len(parts) < 6 {
		return ""
	}
	return parts[4]
}

var notInSession = regexp.MustCompile(`[^\w+=,.@-]`)

// sessionName is what CloudTrail shows; the same in every run.
func (c Config) sessionName(arn string) string {
	name := c.SessionName
	if name == "" {
		name = "sluice-" + arn[strings.LastIndexByte(arn, '/')+1:]
	}
	name = notInSession.ReplaceAllString(name, "-")
	return name[:min(len(name), 64)]
}
