package stage

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
)

// A deployment claims its service by a tag, so that a deployment on another machine sees it. AWS
// has no compare-and-set for tags: two deployments that start within readBackDelay can both pass.
const (
	claimLifetime     = 30 * time.Minute // how long a claim is valid without renewal
	renewClaimWithin  = 15 * time.Minute // the claim is renewed when less time remains
	recheckClaimAfter = 30 * time.Second // the claim is read again before a write if the last read is older
	maxClaimAge       = 2 * time.Minute  // no write is sent if the last read is older
	readBackDelay     = 2 * time.Second  // between writing the tag and reading it back
	maxClaimReads     = 5                // reads without our tag before the claim counts as lost
)

// claim is the last read of the claim tag.
type claim struct {
	seen       time.Time // when a read showed that it is ours, by our clock; zero: it is not
	until      time.Time
	otherValue string // tag value of another deployment's claim; empty: none was read

	takenOver string // tag value that we took over: a read that shows it is old
}

// readTags updates the claim from the tags of a read.
func (c *claim) readTags(tags map[string]string, deployment string, now time.Time) {
	value, ok := tags[plan.ClaimTag]
	passed := c.takenOver
	*c = claim{takenOver: passed}
	if !ok || value == passed {
		return
	}
	k, err := plan.ParseClaim(value)
	switch {
	case err == nil && k.Deployment == deployment:
		c.seen, c.until = now, k.Until
	case err == nil && k.Until.Before(now): // the claim of another deployment has expired
	default:
		c.otherValue = value
	}
}

// checkClaim returns the gate's check before a write. The claim was read within maxClaimAge, and
// the read that the write depends on is recent enough. [Run.needsClaim] lists the writes that need
// no claim.
func (r *Run) checkClaim(ctx context.Context, a sluice.Attempt) func(time.Time) error {
	on, relies := ctx.Value(readDependencyKey{}).(readDependency)
	claimed := !r.unclaimed && r.needsClaim(a)
	if !relies && !claimed {
		return nil
	}
	return func(now time.Time) error {
		switch {
		case relies && on.ageAt(now) > maxReadAge:
			return errThrottled(errStaleRead)
		case !claimed:
			return nil
		case r.claim.seen.IsZero():
			return r.errClaimLost()
		case now.Sub(r.claim.seen) > maxClaimAge:
			return errThrottled(errStaleClaim)
		}
		return nil
	}
}

// needsClaim reports whether a write needs the claim. Tag writes to the service, its CreateService,
// CodeDeploy calls and RunTask outside a step need none. Writes of task definitions need none
// either, because they change no running task.
func (r *Run) needsClaim(a sluice.Attempt) bool {
	switch a.Planned.Operation {
	case "ecs:RunTask":
		return r.isStep
	case "ecs:RegisterTaskDefinition", "ecs:DeregisterTaskDefinition":
		return false
	case "codedeploy:CreateDeployment", "codedeploy:StopDeployment", "codedeploy:ContinueDeployment":
		return false // CodeDeploy allows one deployment per group at a time; Stop and Continue name it
	case "ecs:TagResource", "ecs:UntagResource", "ecs:CreateService":
		return a.Planned.Resource != r.client.Resource() // of the canary service: needs the claim on the service
	}
	return true
}

func (r *Run) errClaimLost() error {
	why := "the tag was deleted"
	if r.claim.otherValue != "" {
		why = "owned by " + plan.ClaimText(r.claim.otherValue)
	}
	return &sluice.Error{Op: "keep the claim on the service", Resource: r.client.Resource(), Kind: sluice.LostClaim,
		Err: fmt.Errorf("tag %s: %s", plan.ClaimTag, why),
		Next: "run sluice status to see the other deployment; to take over the service again, run sluice deploy " +
			"--take-over"}
}

// writeUnderClaim makes a write. If the write waits so long for its turn that the last read of the
// claim is too old, it reads the claim again first.
func (r *Run) writeUnderClaim(ctx context.Context, a sluice.Attempt, write func() (string, error)) (result string,
	err error) {
	for n := 1; ; n++ {
		if result, err = write(); n == maxReadRetries || !errors.Is(err, errStaleClaim) {
			return result, err
		}
		if err := r.ensureFreshClaim(withReadPriority(ctx, n+1), a); err != nil {
			return "", err
		}
	}
}

// ensureFreshClaim reads the claim again if the last read is older than recheckClaimAfter. It
// writes the claim again if less than renewClaimWithin remains.
func (r *Run) ensureFreshClaim(ctx context.Context, a sluice.Attempt) error {
	if r.unclaimed || !r.needsClaim(a) {
		return nil
	}
	now := r.Clock.Now()
	if now.Sub(r.claim.seen) <= recheckClaimAfter && r.claim.until.Sub(now) >= renewClaimWithin {
		return nil
	}
	live, err := r.findClaim(ctx)
	if err != nil || r.claim.until.Sub(r.Clock.Now()) >= renewClaimWithin {
		return err
	}
	return r.tagClaim(ctx, live)
}

// renewClaimInTime renews our claim during a long wait, before it expires.
func (r *Run) renewClaimInTime(ctx context.Context, live *ecs.ServiceState) error {
	listed := r.Stage.MayWrite(sluice.Write{Operation: "ecs:TagResource", Resource: r.client.Resource()})
	if r.claim.seen.IsZero() || !listed || r.claim.until.Sub(r.Clock.Now()) >= renewClaimWithin {
		return nil
	}
	return r.tagClaim(ctx, live)
}

// findClaim reads the claim tag. Another deployment's tag is final. A missing tag is read again,
// because AWS may lag behind our write.
func (r *Run) findClaim(ctx context.Context) (*ecs.ServiceState, error) {
	heeding := r.watchesDrift
	r.watchesDrift = false // a write follows: drift is not handled inside it
	defer func() { r.watchesDrift = heeding }()
	defer r.reads.endPoll() // this read was not checked for drift
	for n := 1; ; n++ {
		live, err := r.observeService(ctx)
		if err != nil || !r.claim.seen.IsZero() {
			return live, err
		}
		if r.claim.otherValue != "" || n == maxClaimReads {
			return nil, r.errClaimLost()
		}
		if err := r.pauseFor(ctx, readBackDelay); err != nil {
			return nil, err
		}
	}
}

// claimAndSuspend claims the service and then, before any other write, suspends auto scaling.
func (r *Run) claimAndSuspend(ctx context.Context, live *ecs.ServiceState) error {
	if err := r.acquireClaim(ctx, live); err != nil {
		return err
	}
	return r.overrideScaling(ctx, live)
}

// acquireClaim claims the service, or finds that this deployment has the claim.
func (r *Run) acquireClaim(ctx context.Context, live *ecs.ServiceState) error {
	r.claim.readTags(live.Tags, r.Deployment, r.Clock.Now())
	if r.claim.seen.IsZero() {
		if err := r.recheckClaim(ctx); err != nil {
			return err
		}
	}
	if r.claim.otherValue != "" {
		if err := r.permitTakeOver(ctx); err != nil {
			return err
		}
	}
	if r.claim.until.Sub(r.Clock.Now()) >= renewClaimWithin {
		return r.awaitFormerOwner(ctx)
	}
	if err := r.checkClaimNotLost(ctx); err != nil {
		return err
	}
	if err := r.tagClaim(ctx, live); err != nil {
		return err
	}
	if err := r.pauseFor(ctx, readBackDelay); err != nil {
		return err
	}
	if _, err := r.findClaim(ctx); err != nil && r.claim.otherValue == "" {
		return err
	}
	if r.claim.otherValue != "" {
		return r.errClaimTaken()
	}
	return r.awaitFormerOwner(ctx)
}

// recheckClaim reads the claim again if the last read is old. Reads in between take time, and
// another deployment may have claimed the service.
func (r *Run) recheckClaim(ctx context.Context) error {
	if r.Clock.Now().Sub(r.readAt) <= readBackDelay {
		return nil
	}
	return r.readClaim(account.BeforeWrite(ctx))
}

// readClaim reads which deployment claims the service.
func (r *Run) readClaim(ctx context.Context) error {
	live, err := r.client.Observe(ctx)
	if err != nil || live == nil {
		return err
	}
	r.readAt = r.Clock.Now()
	r.claim.readTags(live.Tags, r.Deployment, r.readAt)
	return nil
}

// checkClaimNotLost returns an error instead of a second claim if our tag is missing. In that case
// another actor took the service over and has released it since. An expired claim of ours is still
// there as a tag.
func (r *Run) checkClaimNotLost(ctx context.Context) error {
	saved, err := r.memory.Claim.Load(ctx)
	if err != nil {
		return err
	}
	if saved.Claimed && r.claim.seen.IsZero() && r.claim.takenOver == "" {
		_, err = r.findClaim(ctx)
	}
	return err
}

// saveClaimHeld saves that a read showed our claim.
func (r *Run) saveClaimHeld(ctx context.Context) error {
	r.ownsClaim = true
	saved, err := r.memory.Claim.Load(ctx)
	if err != nil || saved.Claimed {
		return err
	}
	saved.Claimed = true
	return r.memory.Claim.Save(ctx, saved)
}

func (r *Run) errClaimTaken() error {
	return &sluice.Error{Op: "claim the service", Resource: r.client.Resource(), Kind: sluice.Overtaken,
		Err:  fmt.Errorf("another deployment owns the claim: %s", plan.ClaimText(r.claim.otherValue)),
		Next: "wait for the other deployment to end (see sluice status), or end it: sluice deploy --take-over"}
}

// newClaimTags returns the tag of a claim that starts now.
func (r *Run) newClaimTags() map[string]string {
	return map[string]string{plan.ClaimTag: plan.Claim{Deployment: r.Deployment,
		Until: r.Clock.Now().Add(claimLifetime)}.String()}
}

// tagClaim writes the claim tag. The write depends on a recent read of the service.
func (r *Run) tagClaim(ctx context.Context, live *ecs.ServiceState) error {
	for n := 1; ; n++ {
		k := plan.Claim{Deployment: r.Deployment, Until: r.Clock.Now().Add(claimLifetime), Former: r.oldPrimaryID()}
		err := r.client.Tag(withMaxReadAge(ctx, r.readAt), r.makeWrite, "claim the service", live.ARN,
			map[string]string{plan.ClaimTag: k.String()})
		if err == nil {
			r.claim.seen, r.claim.until, r.claim.otherValue = r.Clock.Now(), k.Until, ""
			return nil
		}
		if !mayRetryRead(n, err) {
			return err
		}
		if err := r.readClaim(withReadPriority(ctx, n+1)); err != nil {
			return err
		}
		switch {
		case r.claim.otherValue != "" && r.ownsClaim:
			return r.errClaimLost()
		case r.claim.otherValue != "":
			return r.errClaimTaken()
		}
	}
}

// findOwnClaim returns the service once a read shows our claim; nil if the claim is not ours. A
// read without any claim may be older than our claim, so it is repeated until unseenFor has passed.
func (r *Run) findOwnClaim(ctx context.Context, live *ecs.ServiceState) (*ecs.ServiceState, error) {
	saved, err := r.memory.Claim.Load(ctx)
	if err != nil {
		return nil, err
	}
	for live != nil {
		r.claim.readTags(live.Tags, r.Deployment, r.Clock.Now())
		_, claimed := live.Tags[plan.ClaimTag]
		if !r.claim.seen.IsZero() {
			return live, nil
		}
		if claimed || !saved.Claimed || r.Clock.Now().Sub(r.wroteAt) >= unseenLimit {
			return nil, nil
		}
		if err := r.pauseFor(ctx, readBackDelay); err != nil {
			return nil, err
		}
		if live, err = r.client.Observe(ctx); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// Release removes the claim tag after the last stage. It does nothing if the service is deleted or
// the claim is not ours. With contested, a read showed another deployment's claim. A stale read
// could then show ours, and Release would delete the other claim; so Release waits first.
func (r *Run) Release(ctx context.Context, contested bool) error {
	_, err := r.releaseClaim(ctx, contested)
	return err
}

// ReleaseEnded is [Run.Release] after the deployment has ended. Another deployment may have claimed
// the service since. released is false if the claim on the service is not ours.
func (r *Run) ReleaseEnded(ctx context.Context) (released bool, err error) {
	return r.releaseClaim(ctx, true)
}

func (r *Run) releaseClaim(ctx context.Context, contested bool) (released bool, err error) {
	if !r.Plan.Mode().HasService() || len(r.Plan.Finish) == 0 {
		return false, nil // there is no service to claim, or no write needed a claim
	}
	ctx = r.withRetries(ctx)
	if contested {
		if err := r.pauseFor(ctx, readLag); err != nil {
			return false, err
		}
	}
	r.Stage.Writes = append(r.Stage.Writes, r.Plan.Finish...)
	live := r.confirmed
	if live == nil || contested {
		if live, err = r.client.Observe(ctx); err != nil {
			return false, err
		}
	}
	if live == nil || live.Status != "ACTIVE" {
		return false, nil
	}
	live, err = r.findOwnClaim(ctx, live)
	if err != nil || live == nil {
		return false, err
	}
	if err := r.memory.Claim.Update(ctx, func(c *memory.Claim) { c.Claimed = false }); err != nil {
		return false, err
	}
	return true, r.client.Untag(ctx, r.makeWrite, "release the claim", live.ARN, plan.ClaimTag)
}
