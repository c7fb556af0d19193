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

// A deployment claims its service by a tag, so that a second one elsewhere sees
// it. AWS has no compare-and-set here: two that start within settling can both
// pass.
const (
	claimFor    = 30 * time.Minute // how long a claim holds without renewal
	claimRenew  = 15 * time.Minute // renewed when less is left
	claimFresh  = 30 * time.Second // looked at again before a write if seen longer ago
	claimStale  = 2 * time.Minute  // no write at all if seen longer ago
	claimSettle = 2 * time.Second  // before the tag that was written is read back
	claimLooks  = 5                // before a claim that is not seen counts as lost
)

// claim is what was last seen of our claim.
type claim struct {
	seen  time.Time // when it was seen to be ours, by our clock
	until time.Time
	other string // value of somebody else's claim, if that was seen

	passed string // value that we took over: an answer that shows it is old
}

// see takes in the tags of a look.
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
	case err == nil && k.Until.Before(now): // somebody's that has run out
	default:
		c.other = value
	}
}

// held tells the gate whether the claim was seen recently, and the look that the write
// relies on was made lately. The write of the claim itself, the creation of the
// service, and registering a revision, which changes nothing that serves, need no
// claim.
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

func (r *Run) needsClaim(a sluice.Attempt) bool {
	switch a.Planned.Operation {
	case "ecs:RunTask":
		return r.step
	case "ecs:RegisterTaskDefinition", "ecs:DeregisterTaskDefinition":
		return false
	case "codedeploy:CreateDeployment", "codedeploy:StopDeployment", "codedeploy:ContinueDeployment":
		return false // CodeDeploy has one deployment at a time per group, and the others name theirs
	case "ecs:TagResource", "ecs:UntagResource", "ecs:CreateService":
		return a.Planned.Resource != r.hand.Resource() // of the canary service: by leave of the other
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

// claimed makes a write. If it waited so long for its turn that the claim was read long
// ago by then, the claim is read again first.
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

// renew looks at the claim again if that was long ago, and writes it anew in
// good time.
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

// keep renews a claim of ours that would run out during a long wait.
func (r *Run) keep(ctx context.Context, live *ecs.Live) error {
	listed := r.Stage.Lists(sluice.Write{Operation: "ecs:TagResource", Resource: r.hand.Resource()})
	if r.claim.seen.IsZero() || !listed || r.claim.until.Sub(r.Clock.Now()) >= claimRenew {
		return nil
	}
	return r.tagClaim(ctx, live)
}

// seek looks for our claim. Somebody else's is an answer; none at all may be an
// answer that lags behind our write, so it is looked for again.
func (r *Run) seek(ctx context.Context) (*ecs.Live, error) {
	heeding := r.heeding
	r.heeding = false // a write is about to be made: one thing at a time
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

// hold claims the service and, first thing then, auto scaling.
func (r *Run) hold(ctx context.Context, live *ecs.Live) error {
	if err := r.own(ctx, live); err != nil {
		return err
	}
	return r.scale(ctx, live)
}

// own claims the service, or finds it claimed by this deployment.
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

// lookLately looks for a claim once more if the last look is old: what else was read
// since may have taken its time, and somebody else may have claimed the service.
func (r *Run) lookLately(ctx context.Context) error {
	if r.Clock.Now().Sub(r.looked) <= claimSettle {
		return nil
	}
	return r.seeClaim(account.BeforeWrite(ctx))
}

// seeClaim looks who claims the service.
func (r *Run) seeClaim(ctx context.Context) error {
	live, err := r.hand.Observe(ctx)
	if err != nil || live == nil {
		return err
	}
	r.looked = r.Clock.Now()
	r.claim.see(live.Tags, r.Deployment, r.looked)
	return nil
}

// notLost refuses to claim the service a second time if the tag is gone that was
// ours: somebody else took it, and has given it back by now. One that ran out
// still stands.
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

// remainsOurs remembers that the claim was seen to be ours.
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

// newClaim is the tag of a claim from now on.
func (r *Run) newClaim() map[string]string {
	return map[string]string{plan.ClaimTag: plan.Claim{Deployment: r.Deployment, Until: r.Clock.Now().Add(claimFor)}.String()}
}

// tagClaim writes the claim, on a look that is not long ago.
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

// ownClaim is the service once a read shows our claim; nil if the claim is not ours. A
// read without any claim may be older than ours.
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

// Release gives the claim back, after the last stage. A service that is gone,
// or a claim that is not ours, is left alone. contested tells that somebody else's was
// seen: a look that lags would show ours, and theirs would be given back.
func (r *Run) Release(ctx context.Context, contested bool) error {
	_, err := r.release(ctx, contested)
	return err
}

// ReleaseLeft is [Run.Release] once the deployment has ended: another one may have claimed
// the service since. released is false if the claim on the service is not ours.
func (r *Run) ReleaseLeft(ctx context.Context) (released bool, err error) {
	return r.release(ctx, true)
}

func (r *Run) release(ctx context.Context, contested bool) (released bool, err error) {
	if r.Plan.Standalone || len(r.Plan.Finish) == 0 {
		return false, nil // there is nothing to claim, or there was no need
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
