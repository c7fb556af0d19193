package balanced

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage/capacity"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// maxNodeWaits bounds the wait for nodes, as a multiple of one propagation. Each change of weights by
// another actor restarts the wait.
const maxNodeWaits = 3

// nodePollInterval is the time between two polls of a wait for nodes. It is also how late an abort
// is noticed.
const nodePollInterval = 10 * time.Second

// waitForNodes waits until every node of a load balancer that takes minutes uses the weights that
// were written last. The nodes change one after the other. Until then, some send new connections by
// the old weights, so nothing that those use may be removed. check runs at every poll.
func waitForNodes(ctx context.Context, b traffic, check func(context.Context) error) error {
	began := b.step.Clock.Now()
	return capacity.AwaitTime(ctx, b.step, capacity.TimedWait{For: "the nodes of the " + b.step.Plan.Balancer.Name() +
		" to use the weights",
		Detail: fmt.Sprintf("%s from the last change, because AWS does not report when they do",
			plan.FormatDuration(b.step.Plan.ShiftPropagation())),
		Until: func() (time.Time, error) {
			until, err := findSpreadTime(ctx, b)
			isWaiting := err == nil && b.step.Clock.Now().Before(until)
			if isWaiting && until.Sub(began) > maxNodeWaits*b.step.Plan.ShiftPropagation() {
				err = errWeightsUnsettled(b, began)
			}
			return until, err
		}, Check: check, Interval: nodePollInterval})
}

// countRules returns a number of rules in words. A load balancer without rules has default actions.
func countRules(b traffic, n int) string {
	if b.step.Plan.Balancer.HasRules() {
		return sluice.Plural(n, "listener rule")
	}
	return sluice.Plural(n, "default action")
}

// checkService reads the service, its claim and its drift.
func (b traffic) checkService(ctx context.Context) error {
	_, err := b.step.ObserveService(ctx)
	return err
}

// findSpreadTime returns when every node uses the current weights. It is zero if this deployment
// changed none. An adoption does not know when the lost deployment changed them, so it counts from
// its own start.
func findSpreadTime(ctx context.Context, b traffic) (time.Time, error) {
	at, ok, err := step.LoadShiftTime(ctx, b.step)
	switch {
	case err != nil:
		return at, err
	case !ok && (b.step.Stage.Adopts() || b.step.IsRollback() && b.step.Plan.Adopts()):
		at = b.step.Host.Began()
	case !ok:
		return at, nil
	}
	return at.Add(b.step.Plan.ShiftPropagation()), nil
}

// saveAdoptedShift saves the time of an edit of the weights by another actor that sluice keeps, for which the nodes take
// minutes too. The time at which sluice noticed it is later than the edit.
func saveAdoptedShift(ctx context.Context, b traffic) error {
	if !b.step.Plan.WaitsAfterShift() {
		return nil
	}
	return step.SaveShiftTime(ctx, b.step)
}

// errWeightsUnsettled is the error of a wait that changes of weights restarted too often.
func errWeightsUnsettled(b traffic, began time.Time) error {
	return &sluice.Error{Op: "wait for the nodes of the " + b.step.Plan.Balancer.Name(),
		Resource: b.step.Plan.Primary.ARN, Kind: sluice.Stall,
		Err: fmt.Errorf("the weights changed again and again for %s",
			b.step.Clock.Now().Sub(began).Round(time.Second)),
		Next: "stop other processes that write to the same listener, then run sluice resume"}
}
