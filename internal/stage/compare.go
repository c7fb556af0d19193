package stage

import (
	"context"
	"errors"
	"time"
)

// compareEvery is how often a stage compares what a look at the service does not
// show: rules and auto scaling take calls of their own.
const compareEvery = 10 * time.Second

// errDiffers ends a wait beside which a difference was seen, so that it is answered
// before the wait goes on.
var errDiffers = errors.New("somebody else changed something")

// compare answers what others changed of rules and auto scaling. It is called at
// every look of every wait of a stage.
func (r *Run) compare(ctx context.Context) error {
	differs, err := r.differs(ctx)
	if err != nil || !differs {
		return err
	}
	return r.answerBeside(ctx)
}

// differs reports whether rules or auto scaling are otherwise than we left them. It
// looks if that was long ago, and answers nothing. What a rollback finds it leaves.
func (r *Run) differs(ctx context.Context) (bool, error) {
	now := r.Clock.Now()
	if !r.holding || r.returns() || now.Sub(r.compared) < compareEvery {
		return false, nil
	}
	r.compared = now
	if h, ok, err := r.heldNow(ctx); err != nil {
		return false, err
	} else if ok {
		live, err := r.scaler().Observe(ctx)
		if err != nil || undone(h, live) {
			return err == nil, err
		}
	}
	if !r.heeding {
		return false, nil
	}
	return r.access.differs(ctx)
}

// answerBeside does what onOutsideChange says about rules and auto scaling.
func (r *Run) answerBeside(ctx context.Context) error {
	heeding := r.heeding
	r.heeding = false // one thing at a time
	defer func() { r.heeding, r.compared = heeding, r.Clock.Now() }()
	if err := r.heedScaling(ctx); err != nil || !heeding {
		return err
	}
	if err := r.access.heed(ctx); err != nil || !r.leaving {
		return err
	}
	return r.takeTraffic(ctx) // what was adopted may send requests to a canary that goes
}

// heldNow is our hold on auto scaling, if it is set.
func (r *Run) heldNow(ctx context.Context) (h scaling, ok bool, err error) {
	if r.Plan.Scaling == nil {
		return h, false, nil
	}
	h, ok, err = saved[scaling](ctx, r.Host, keyScaling)
	return h, ok && h.Phase == set, err
}

// heedScaling looks at auto scaling while the deployment holds it, and answers what
// others changed of it.
func (r *Run) heedScaling(ctx context.Context) error {
	h, ok, err := r.heldNow(ctx)
	if err != nil || !ok {
		return err
	}
	now, err := r.scaler().Observe(ctx)
	if err != nil {
		return err
	}
	return r.keepScaling(ctx, h, now)
}
