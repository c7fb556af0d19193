package step

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// A deployment claims its service by a tag, so that a deployment on another machine sees it. AWS
// has no compare-and-set for tags: two deployments that start within ReadBackDelay can both pass.
const (
	claimLifetime     = 30 * time.Minute // how long a claim is valid without renewal
	RenewClaimWithin  = 15 * time.Minute // the claim is renewed when less time remains
	recheckClaimAfter = 30 * time.Second // the claim is read again before a write if the last read is older
	MaxClaimAge       = 2 * time.Minute  // no write is sent if the last read is older
	ReadBackDelay     = 2 * time.Second  // between writing the tag and reading it back
	// RenewedClaimLeft is how long a claim that a process renews is valid at least.
	RenewedClaimLeft = RenewClaimWithin - MaxClaimAge
	maxClaimReads    = 5 // reads without our tag before the claim counts as lost
)

// Claim is the last read of the claim tag.
type Claim struct {
	ReadAt     time.Time // when the tag was last read or written, by our clock
	Seen       time.Time // when a read showed that it is ours, by our clock; zero: it is not
	Until      time.Time
	OtherValue string // tag value of another deployment's claim; empty: none was read

	TakenOver string // tag value that we took over: a read that shows it is old
}

// ReadTags updates the claim from the tags of a read.
func (c *Claim) ReadTags(tags map[string]string, deployment string, now time.Time) {
	value, ok := tags[plan.ClaimTag]
	passed := c.TakenOver
	*c = Claim{TakenOver: passed, ReadAt: now}
	if !ok || value == passed {
		return
	}
	k, err := plan.ParseClaim(value)
	switch {
	case err == nil && k.Deployment == deployment:
		c.Seen, c.Until = now, k.Until
	case err == nil && !k.IsValidAt(now): // the claim of another deployment has expired
	default:
		c.OtherValue = value
	}
}

// claimNeed is what the last read of the claim must show before a write.
type claimNeed int

const (
	needsNothing claimNeed = iota
	needsNoOther           // no claim of another deployment
	needsOwn               // the claim of this deployment
)

// checkClaim returns the gate's check before a write. The claim was read within MaxClaimAge and shows
// what the write needs, and the read that the write depends on is recent enough.
func checkClaim(ctx context.Context, s *Step, a sluice.Attempt) func(time.Time) error {
	on, relies := ctx.Value(readDependencyKey{}).(readDependency)
	need := claimNeedOf(s, a)
	if !relies && need == needsNothing {
		return nil
	}
	return func(now time.Time) error {
		if relies && on.ageAt(now) > maxReadAge {
			return errThrottled(errStaleRead)
		}
		return s.Claim.check(s, need, now)
	}
}

// check reports why the last read of the claim does not permit a write with this need.
func (c *Claim) check(s *Step, need claimNeed, now time.Time) error {
	readAt := c.ReadAt
	switch {
	case need == needsNothing:
		return nil
	case need == needsOwn && c.Seen.IsZero() && c.OtherValue != "":
		return errClaimLost(s)
	case need == needsOwn && c.Seen.IsZero():
		return errThrottled(errStaleClaim) // it is read again
	case need == needsNoOther && c.OtherValue != "":
		return ErrClaimTaken(s)
	case need == needsOwn:
		readAt = c.Seen
	}
	if now.Sub(readAt) > MaxClaimAge {
		return errThrottled(errStaleClaim)
	}
	return nil
}

// claimNeedOf returns what a write needs. Tag writes to the service, its CreateService and RunTask
// outside a step need no claim. Writes of task definitions need none either, because they change no
// running task.
func claimNeedOf(s *Step, a sluice.Attempt) claimNeed {
	if s.Unclaimed {
		return needsNothing
	}
	switch a.Planned.Operation {
	case "ecs:RunTask":
		if !s.IsStep {
			return needsNothing
		}
	case "ecs:RegisterTaskDefinition", "ecs:DeregisterTaskDefinition":
		return needsNothing
	case "codedeploy:StopDeployment", "codedeploy:ContinueDeployment":
		return needsNothing // they name the deployment
	case "codedeploy:CreateDeployment":
		return needsNoOther // CodeDeploy allows one deployment per group at a time
	case "ecs:TagResource", "ecs:UntagResource", "ecs:CreateService":
		if a.Planned.Resource == s.Client.Resource() { // of the canary service: needs the claim on the service
			return needsNothing
		}
	}
	return needsOwn
}

func errClaimLost(s *Step) error {
	why := "the tag was deleted"
	if s.Claim.OtherValue != "" {
		why = "owned by " + plan.ClaimText(s.Claim.OtherValue)
	}
	return &sluice.Error{Op: "keep the claim on the service", Resource: s.Client.Resource(), Kind: sluice.LostClaim,
		Err: fmt.Errorf("tag %s: %s", plan.ClaimTag, why),
		Next: "run sluice status to see the other deployment; to take over the service again, run sluice deploy " +
			"--take-over"}
}

// writeUnderClaim makes a write. If the write waits so long for its turn that the last read of the
// claim is too old, it reads the claim again first.
func writeUnderClaim(ctx context.Context, s *Step, a sluice.Attempt, write func() (string, error)) (result string,
	err error) {
	for n := 1; ; n++ {
		if result, err = write(); n == maxReadRetries || !errors.Is(err, errStaleClaim) {
			return result, err
		}
		if err := ensureFreshClaim(withReadPriority(ctx, n+1), s, a); err != nil {
			return "", err
		}
	}
}

// ensureFreshClaim reads the claim again if the last read is older than recheckClaimAfter. It
// writes our claim again if less than RenewClaimWithin remains.
func ensureFreshClaim(ctx context.Context, s *Step, a sluice.Attempt) error {
	now := s.Clock.Now()
	switch claimNeedOf(s, a) {
	case needsNothing:
		return nil
	case needsNoOther:
		if now.Sub(s.Claim.ReadAt) <= recheckClaimAfter {
			return nil
		}
		return ReadClaim(ctx, s)
	}
	if now.Sub(s.Claim.Seen) <= recheckClaimAfter && s.Claim.Until.Sub(now) >= RenewClaimWithin {
		return nil
	}
	live, err := FindClaim(ctx, s)
	if err != nil || s.Claim.Until.Sub(s.Clock.Now()) >= RenewClaimWithin {
		return err
	}
	return TagClaim(ctx, s, live)
}

// renewClaimInTime renews our claim during a long wait, before it expires.
func renewClaimInTime(ctx context.Context, s *Step, live *ecs.ServiceState) error {
	listed := s.Stage.MayWrite(sluice.Write{Operation: "ecs:TagResource", Resource: s.Client.Resource()})
	if s.Claim.Seen.IsZero() || !listed || s.Claim.Until.Sub(s.Clock.Now()) >= RenewClaimWithin {
		return nil
	}
	return TagClaim(ctx, s, live)
}

// FindClaim reads the claim tag. Another deployment's tag is final. A missing tag is read again,
// because AWS may lag behind our write. If it stays missing, it was removed, and is written again.
func FindClaim(ctx context.Context, s *Step) (*ecs.ServiceState, error) {
	heeding := s.WatchesDrift
	s.WatchesDrift = false // a write follows: drift is not handled inside it
	defer func() { s.WatchesDrift = heeding }()
	defer s.Reads.EndPoll() // this read was not checked for drift
	for n := 1; ; n++ {
		live, err := s.ObserveService(ctx)
		if err != nil || !s.Claim.Seen.IsZero() {
			return live, err
		}
		if s.Claim.OtherValue != "" {
			return nil, errClaimLost(s)
		}
		if n == maxClaimReads {
			return restoreClaim(ctx, s, live)
		}
		if err := s.PauseFor(ctx, ReadBackDelay); err != nil {
			return nil, err
		}
	}
}

// ReadClaim reads which deployment claims the service.
func ReadClaim(ctx context.Context, s *Step) error {
	live, err := s.Client.Observe(ctx)
	if err != nil {
		return err
	}
	if live == nil {
		s.Claim.ReadAt = s.Clock.Now() // AWS refuses writes to a deleted service
		return nil
	}
	s.ReadAt = s.Clock.Now()
	s.Claim.ReadTags(live.Tags, s.Deployment, s.ReadAt)
	return nil
}

// ErrClaimTaken is the error of a claim that another deployment owns.
func ErrClaimTaken(s *Step) error {
	return &sluice.Error{Op: "claim the service", Resource: s.Client.Resource(), Kind: sluice.Overtaken,
		Err:  fmt.Errorf("another deployment owns the claim: %s", plan.ClaimText(s.Claim.OtherValue)),
		Next: "wait for the other deployment to end (see sluice status), or end it: sluice deploy --take-over"}
}

// NewClaimTags returns the tag of a claim that starts now.
func NewClaimTags(s *Step) map[string]string {
	return map[string]string{plan.ClaimTag: plan.Claim{Deployment: s.Deployment,
		Until: s.Clock.Now().Add(claimLifetime)}.String()}
}

// TagClaim writes the claim tag. The write depends on a recent read of the service.
func TagClaim(ctx context.Context, s *Step, live *ecs.ServiceState) error {
	for n := 1; ; n++ {
		k := plan.Claim{Deployment: s.Deployment, Until: s.Clock.Now().Add(claimLifetime), Former: s.OldPrimaryID()}
		err := s.Client.Tag(withMaxReadAge(ctx, s.ReadAt), s.MakeWrite, "claim the service", live.ARN,
			map[string]string{plan.ClaimTag: k.String()})
		if err == nil {
			s.Claim.Seen, s.Claim.Until, s.Claim.OtherValue = s.Clock.Now(), k.Until, ""
			s.Claim.ReadAt = s.Claim.Seen
			return nil
		}
		if !MayRetryRead(n, err) {
			return err
		}
		if err := ReadClaim(withReadPriority(ctx, n+1), s); err != nil {
			return err
		}
		switch {
		case s.Claim.OtherValue != "" && s.OwnsClaim:
			return errClaimLost(s)
		case s.Claim.OtherValue != "":
			return ErrClaimTaken(s)
		}
	}
}

// FindOwnClaim returns the service once a read shows our claim; nil if the claim is not ours. A read without any claim may
// be older than our claim, so it is repeated until one was sent [UnseenLimit] after our last write. sent is when live was
// read.
func FindOwnClaim(ctx context.Context, s *Step, live *ecs.ServiceState, sent time.Time) (*ecs.ServiceState, error) {
	saved, err := s.Memory.Claim.Load(ctx)
	if err != nil {
		return nil, err
	}
	for live != nil {
		s.Claim.ReadTags(live.Tags, s.Deployment, s.Clock.Now())
		_, claimed := live.Tags[plan.ClaimTag]
		if !s.Claim.Seen.IsZero() {
			return live, nil
		}
		if claimed || !saved.Claimed || sent.Sub(s.WroteAt) >= UnseenLimit {
			return nil, nil
		}
		if s.IsFirstTime("no claim at the end") {
			s.Host.Emit(sluice.Waiting{For: "AWS to show tag " + plan.ClaimTag, Detail: fmt.Sprintf("another process or "+
				"person removed it, or AWS's responses are old; the deployment ends within %s", UnseenLimit)})
		}
		if err := s.PauseFor(ctx, ReadBackDelay); err != nil {
			return nil, err
		}
		sent = s.Clock.Now()
		if live, err = s.Client.Observe(ctx); err != nil {
			return nil, err
		}
	}
	return nil, nil
}
