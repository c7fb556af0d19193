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
)

// A deployment claims its service by a tag, so that a deployment on another machine sees it. AWS
// has no compare-and-set for tags: two deployments that start within readBackDelay can both pass.
const (
	claimFor    = 30 * time.Minute // how long a claim is valid without renewal
	claimRenew  = 15 * time.Minute // the claim is renewed when less time remains
	claimFresh  = 30 * time.Second // the claim is read again before a write if the last read is older
	claimStale  = 2 * time.Minute  // no write is sent if the last read is older
	claimSettle = 2 * time.Second  // between writing the tag and reading it back
	claimLooks  = 5                // reads without our tag before the claim counts as lost
)

// claim is the last read of the claim tag.
type claim struct {
	seen  time.Time // when a read showed that it is ours, by our clock; zero: it is not
	until time.Time
	other string // tag value of another deployment's claim; empty: none was read

	passed string // tag value that we took over: a read that shows it is old
}

// readTags updates the claim from the tags of a read.
func (c *claim) see(tags map[string]string, deployment string, now time.Time) {
	value, ok := tags[plan.ClaimTag]
	passed := c.passed
	*c = claim{passed: passed}
	if !ok || value == passed {
		return
	}
	k, err := plan.ParseClaim(value)
	switch {
	case err == nil && k.Deployment == deployment:
		c.seen, c.until = now, k.Until
	case err == nil && k.Until.Before(now): // the claim of another deployment has expired
	default:
		c.other = value
	}
}

// checkClaim returns the gate's check before a write. The claim was read within maxClaimAge, and
// the read that the write depends on is recent enough. [Run.needsClaim] lists the writes that need
// no claim.
func (r *Run) held(ctx context.Context, a sluice.Attempt) func(time.Time) error {
	on, relies := ctx.Value(relianceKey{}).(reliance)
	claimed := !r.unclaimed && r.needsClaim(a)
	if !relies && !claimed {
		return nil
	}
	return func(now time.Time) error {
		switch {
		case relies && on.age(now) > lately:
			return throttled(errLongAgo)
		case !claimed:
			return nil
		case r.claim.seen.IsZero():
			return r.lost()
		case now.Sub(r.claim.seen) > claimStale:
			return throttled(errClaimLongAgo)
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
		return r.step
	case "ecs:RegisterTaskDefinition", "ecs:DeregisterTaskDefinition":
		return false
	case "codedeploy:CreateDeployment", "codedeploy:StopDeployment", "codedeploy:ContinueDeployment":
		return false // CodeDeploy allows one deployment per group at a time; Stop and Continue name it
	case "ecs:TagResource", "ecs:UntagResource", "ecs:CreateService":
		return a.Planned.Resource != r.hand.Resource() // of the canary service: needs the claim on the service
	}
	return true
}

func (r *Run) lost() error {
	why := "the tag is gone"
	if r.claim.other != "" {
		why = "it is held by " + plan.HeldBy(r.claim.other)
	}
	return &sluice.Error{Op: "keep the claim on the service", Resource: r.hand.Resource(), Kind: sluice.LostClaim,
		Err: fmt.Errorf("tag %s: %s", plan.ClaimTag, why), Next: "see who deploys it: sluice status; sluice deploy --take-over takes the service back"}
}

// writeUnderClaim makes a write. If the write waits so long for its turn that the last read of the
// claim is too old, it reads the claim again first.
func (r *Run) claimed(ctx context.Context, a sluice.Attempt, write func() (string, error)) (result string, err error) {
	for n := 1; ; n++ {
		if result, err = write(); n == retakes || !errors.Is(err, errClaimLongAgo) {
			return result, err
		}
		if err := r.renew(beforeWrite(ctx, n+1), a); err != nil {
			return "", err
		}
	}
}

// ensureFreshClaim reads the claim again if the last read is older than recheckClaimAfter. It
// writes the claim again if less than renewClaimWithin remains.
func (r *Run) renew(ctx context.Context, a sluice.Attempt) error {
	if r.unclaimed || !r.needsClaim(a) {
		return nil
	}
	now := r.Clock.Now()
	if now.Sub(r.claim.seen) <= claimFresh && r.claim.until.Sub(now) >= claimRenew {
		return nil
	}
	live, err := r.seek(ctx)
	if err != nil || r.claim.until.Sub(r.Clock.Now()) >= claimRenew {
		return err
	}
	return r.tagClaim(ctx, live)
}

// renewClaimInTime renews our claim during a long wait, before it expires.
func (r *Run) keep(ctx context.Context, live *ecs.Live) error {
	listed := r.Stage.Lists(sluice.Write{Operation: "ecs:TagResource", Resource: r.hand.Resource()})
	if r.claim.seen.IsZero() || !listed || r.claim.until.Sub(r.Clock.Now()) >= claimRenew {
		return nil
	}
	return r.tagClaim(ctx, live)
}

// findClaim reads the claim tag. Another deployment's tag is final. A missing tag is read again,
// because AWS may lag behind our write.
func (r *Run) seek(ctx context.Context) (*ecs.Live, error) {
	heeding := r.heeding
	r.heeding = false // a write follows: drift is not handled inside it
	defer func() { r.heeding = heeding }()
	for n := 1; ; n++ {
		live, err := r.observe(ctx)
		if err != nil || !r.claim.seen.IsZero() {
			return live, err
		}
		if r.claim.other != "" || n == claimLooks {
			return nil, r.lost()
		}
		if err := r.pause(ctx, claimSettle); err != nil {
			return nil, err
		}
	}
}

// claimAndSuspend claims the service and then, before any other write, suspends auto scaling.
func (r *Run) hold(ctx context.Context, live *ecs.Live) error {
	if err := r.own(ctx, live); err != nil {
		return err
	}
	return r.scale(ctx, live)
}

// acquireClaim claims the service, or finds that this deployment has the claim.
func (r *Run) own(ctx context.Context, live *ecs.Live) error {
	r.claim.see(live.Tags, r.Deployment, r.Clock.Now())
	if r.claim.seen.IsZero() {
		if err := r.lookLately(ctx); err != nil {
			return err
		}
	}
	if r.claim.other != "" {
		if err := r.passOver(ctx); err != nil {
			return err
		}
	}
	if r.claim.until.Sub(r.Clock.Now()) >= claimRenew {
		return r.waitOut(ctx)
	}
	if err := r.notLost(ctx); err != nil {
		return err
	}
	if err := r.tagClaim(ctx, live); err != nil {
		return err
	}
	if err := r.pause(ctx, claimSettle); err != nil {
		return err
	}
	if _, err := r.seek(ctx); err != nil && r.claim.other == "" {
		return err
	}
	if r.claim.other != "" {
		return r.taken()
	}
	return r.waitOut(ctx)
}

// recheckClaim reads the claim again if the last read is old. Reads in between take time, and
// another deployment may have claimed the service.
func (r *Run) lookLately(ctx context.Context) error {
	if r.Clock.Now().Sub(r.looked) <= claimSettle {
		return nil
	}
	return r.seeClaim(account.BeforeWrite(ctx))
}

// readClaim reads which deployment claims the service.
func (r *Run) seeClaim(ctx context.Context) error {
	live, err := r.hand.Observe(ctx)
	if err != nil || live == nil {
		return err
	}
	r.looked = r.Clock.Now()
	r.claim.see(live.Tags, r.Deployment, r.looked)
	return nil
}

// checkClaimNotLost returns an error instead of a second claim if our tag is missing. In that case
// another actor took the service over and has released it since. An expired claim of ours is still
// there as a tag.
func (r *Run) notLost(ctx context.Context) error {
	held, _, err := saved[bool](ctx, r.Host, keyHeld)
	if err != nil {
		return err
	}
	if held && r.claim.seen.IsZero() && r.claim.passed == "" {
		_, err = r.seek(ctx)
	}
	return err
}

// saveClaimHeld saves that a read showed our claim.
func (r *Run) remainsOurs(ctx context.Context) error {
	r.holding = true
	held, _, err := saved[bool](ctx, r.Host, keyHeld)
	if err != nil || held {
		return err
	}
	return save(ctx, r.Host, keyHeld, true)
}

func (r *Run) taken() error {
	return &sluice.Error{Op: "claim the service", Resource: r.hand.Resource(), Kind: sluice.Overtaken,
		Err: fmt.Errorf("another deployment holds it: %s", plan.HeldBy(r.claim.other)), Next: "wait for it to end; sluice status shows it; sluice deploy --take-over ends it"}
}

// newClaimTags returns the tag of a claim that starts now.
func (r *Run) newClaim() map[string]string {
	return map[string]string{plan.ClaimTag: plan.Claim{Deployment: r.Deployment, Until: r.Clock.Now().Add(claimFor)}.String()}
}

// tagClaim writes the claim tag. The write depends on a recent read of the service.
func (r *Run) tagClaim(ctx context.Context, live *ecs.Live) error {
	for n := 1; ; n++ {
		k := plan.Claim{Deployment: r.Deployment, Until: r.Clock.Now().Add(claimFor), Former: r.oldPrimary()}
		err := r.hand.Tag(relying(ctx, r.looked), r.act, "claim the service", live.ARN, map[string]string{plan.ClaimTag: k.String()})
		if err == nil {
			r.claim.seen, r.claim.until, r.claim.other = r.Clock.Now(), k.Until, ""
			return nil
		}
		if !retake(n, err) {
			return err
		}
		if err := r.seeClaim(beforeWrite(ctx, n+1)); err != nil {
			return err
		}
		switch {
		case r.claim.other != "" && r.holding:
			return r.lost()
		case r.claim.other != "":
			return r.taken()
		}
	}
}

// findOwnClaim returns the service once a read shows our claim; nil if the claim is not ours. A
// read without any claim may be older than our claim, so it is repeated until unseenFor has passed.
func (r *Run) ownClaim(ctx context.Context, live *ecs.Live) (*ecs.Live, error) {
	held, _, err := saved[bool](ctx, r.Host, keyHeld)
	if err != nil {
		return nil, err
	}
	for live != nil {
		r.claim.see(live.Tags, r.Deployment, r.Clock.Now())
		_, claimed := live.Tags[plan.ClaimTag]
		if !r.claim.seen.IsZero() {
			return live, nil
		}
		if claimed || !held || r.Clock.Now().Sub(r.wrote) >= unseenFor {
			return nil, nil
		}
		if err := r.pause(ctx, claimSettle); err != nil {
			return nil, err
		}
		if live, err = r.hand.Observe(ctx); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// Release removes the claim tag after the last stage. It does nothing if the service is deleted or
// the claim is not ours. With contested, a read showed another deployment's claim. A stale read
// could then show ours, and Release would delete the other claim; so Release waits first.
func (r *Run) Release(ctx context.Context, contested bool) error {
	_, err := r.release(ctx, contested)
	return err
}

// ReleaseEnded is [Run.Release] after the deployment has ended. Another deployment may have claimed
// the service since. released is false if the claim on the service is not ours.
func (r *Run) ReleaseLeft(ctx context.Context) (released bool, err error) {
	return r.release(ctx, true)
}

func (r *Run) release(ctx context.Context, contested bool) (released bool, err error) {
	if r.Plan.Standalone || len(r.Plan.Finish) == 0 {
		return false, nil // there is no service to claim, or no write needed a claim
	}
	ctx = r.patient(ctx)
	if contested {
		if err := r.pause(ctx, lag); err != nil {
			return false, err
		}
	}
	r.Stage.Writes = append(r.Stage.Writes, r.Plan.Finish...)
	live := r.confirmed
	if live == nil || contested {
		if live, err = r.hand.Observe(ctx); err != nil {
			return false, err
		}
	}
	if live == nil || live.Status != "ACTIVE" {
		return false, nil
	}
	live, err = r.ownClaim(ctx, live)
	if err != nil || live == nil {
		return false, err
	}
	if err := save(ctx, r.Host, keyHeld, false); err != nil {
		return false, err
	}
	return true, r.hand.Untag(ctx, r.act, "give the claim back", live.ARN, plan.ClaimTag)
}
