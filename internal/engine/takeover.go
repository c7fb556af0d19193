package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/journal"
)

// ErrTakenOver is in the tree of [Engine.Run]'s error when another process took the deployment
// over. This process then writes neither to AWS nor to the deployment's rows.
var ErrTakenOver = errors.New("another process took over the deployment")

// stopWithin is how long the process that runs a deployment has to stop at a safe point. After that
// its lease is taken. It reads commands before each write and every few seconds.
const stopWithin = 30 * time.Second

// TakeOver takes a deployment from the process that runs it, which stops at its next poll or write.
// TakeOver returns the name of that process, or "" if none ran the deployment. [Engine.Run] may
// follow.
func (e *Engine) TakeOver(ctx context.Context, id, by string) (from string, err error) {
	d, err := e.Journal.Deployment(ctx, id)
	if err != nil {
		return "", err
	}
	resource := LeaseResource(d)
	from, err = e.runningProcess(ctx, resource)
	if err != nil || from == "" {
		return "", err
	}
	if _, err := e.Journal.AddCommand(ctx, journal.Command{Deployment: id, Kind: journal.TakeOver,
		By: by}); err != nil {
		return "", err
	}
	for end := e.Clock.Now().Add(stopWithin); e.Clock.Now().Before(end); {
		if now, err := e.runningProcess(ctx, resource); err != nil || now != from {
			return from, err
		}
		if err := e.Clock.Sleep(ctx, pollCommands); err != nil {
			return "", err
		}
	}
	_, err = e.Journal.TakeOverLease(ctx, resource, e.Owner, leaseDuration)
	return from, err
}

// runningProcess returns the live process that owns the lease, or "".
func (e *Engine) runningProcess(ctx context.Context, resource string) (string, error) {
	owner, _, err := e.Journal.Holder(ctx, resource)
	if err != nil || e.IsAlive != nil && !e.IsAlive(owner) {
		return "", err
	}
	return owner, nil
}

// lastCommandSeq returns the Seq of the last command of a deployment. Later commands are for the
// engine that runs it now.
func (e *Engine) lastCommandSeq(ctx context.Context, id string) (int64, error) {
	rows, err := e.Journal.Commands(ctx, id, 0)
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	return rows[len(rows)-1].Seq, nil
}

// checkOwner returns an error if another process took the deployment over, by a command or by the
// lease.
func (r *run) checkOwner(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	if err := r.lease.renew(ctx, r.Clock.Now()); errors.Is(err, journal.ErrLost) {
		return r.takenOverError("another process took the lease")
	} else if err != nil {
		return err
	}
	rows, err := r.Journal.Commands(ctx, r.d.ID, r.seqAtStart)
	if err != nil {
		return err
	}
	for _, c := range rows {
		if c.Kind == journal.TakeOver {
			return r.takenOverError(c.By + " requested it")
		}
	}
	return nil
}

func (r *run) takenOverError(why string) error {
	return &sluice.Error{Op: "run " + r.d.ID, Resource: r.d.Cluster + "/" + r.d.Service, Kind: sluice.LostClaim,
		Err: fmt.Errorf("%w: %s", ErrTakenOver, why), Next: "run sluice status to see the progress of the deployment"}
}
