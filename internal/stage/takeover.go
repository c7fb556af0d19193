package stage

import (
	"context"
	"time"

	"github.com/sluice-ecs/sluice/internal/plan"
)

// seized is a claim that we took over, and when.
type seized struct {
	From string    `json:"from"` // value of the tag
	At   time.Time `json:"at"`
}

// passOver lets a claim of somebody else be overwritten if it is the one that a
// person asked to take over. It is saved first, so that who goes on after a kill
// neither takes it for a new one nor forgets to wait.
func (r *Run) passOver(ctx context.Context) error {
	from := r.claim.other
	s, taken, err := saved[seized](ctx, r.Host, keySeized)
	if err != nil {
		return err
	}
	asked, err := r.askedToTake(ctx)
	if err != nil {
		return err
	}
	if asked == "" || asked != from && asked != holderOf(from) && s.From != from {
		return r.taken()
	}
	if !taken || s.From != from {
		if err := save(ctx, r.Host, keySeized, seized{From: from, At: r.Clock.Now()}); err != nil {
			return err
		}
		r.warn("the service is taken over from %s, which holds it; waiting %s: until then it must have noticed", plan.HeldBy(from), claimStale)
	}
	r.claim = claim{passed: from}
	return nil
}

// askedToTake is whose claim may be taken over: the plan says it, or who resumed
// the deployment.
func (r *Run) askedToTake(ctx context.Context) (string, error) {
	if r.Plan.TakeOver != "" {
		return r.Plan.TakeOver, nil
	}
	from, _, err := r.Host.Load(ctx, KeyTakeOver)
	return string(from), err
}

// holderOf is the deployment of a claim's value, or "" if it is no claim.
func holderOf(value string) string {
	k, err := plan.ParseClaim(value)
	if err != nil {
		return ""
	}
	return k.Deployment
}

// waitOut lets the time pass in which the former holder may still write: it
// writes nothing once it has not seen its claim for claimStale.
func (r *Run) waitOut(ctx context.Context) error {
	if err := r.remainsOurs(ctx); err != nil {
		return err
	}
	asked, err := r.askedToTake(ctx)
	if err != nil || asked == "" {
		return err
	}
	s, taken, err := saved[seized](ctx, r.Host, keySeized)
	if err != nil || !taken {
		return err
	}
	r.claim.passed = s.From
	return r.pause(ctx, s.At.Add(claimStale).Sub(r.Clock.Now()))
}
