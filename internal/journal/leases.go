package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-ecs/sluice"
)

// ErrHeld is in the tree of Acquire's error if another owner has the lease;
// [errors.As] with a *[HeldError] returns the owner and the expiry.
var ErrHeld = errors.New("another process owns the lease")

// ErrLost is in the tree of an error about a lease that the given fence no longer owns: it was
// released, or another process took it.
var ErrLost = errors.New("this process no longer owns the lease")

// HeldError names the owner of a lease.
type HeldError struct {
	Resource string
	Owner    string
	Until    time.Time
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("%s owns the lease until %s", e.Owner, e.Until.Format(time.RFC3339))
}

// Is makes a HeldError an [ErrHeld].
func (e *HeldError) Is(target error) bool { return target == ErrHeld }

// lease is a row of leases.
type lease struct {
	owner string
	fence int64
	until int64
}

// Acquire takes the lease on resource for ttl. The fence grows with each Acquire, also by the same
// owner. From then on an older fence, such as that of a process that seemed to have ended, gets
// [ErrLost]. A lease of another owner that has not expired is [ErrHeld].
func (j *Journal) Acquire(ctx context.Context, resource, owner string, ttl time.Duration) (fence int64, err error) {
	const op = "take the lease"
	if owner == "" {
		return 0, &sluice.Error{Op: op, Resource: resource, Err: errors.New("the owner has no name")}
	}
	err = j.runWrite(ctx, op, resource, func(tx *tx) error {
		held, now := lease{}, j.nowNanos()
		err := tx.queryRow(`SELECT owner, fence, until FROM leases WHERE resource = ?`, resource).Scan(&held.owner,
			&held.fence, &held.until)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if held.owner != "" && held.owner != owner && held.until > now {
			return heldLeaseError(op, resource, held)
		}
		fence = held.fence + 1
		return tx.exec(`INSERT INTO leases (resource, owner, fence, until) VALUES (?, ?, ?, ?)
			ON CONFLICT (resource) DO UPDATE SET owner = excluded.owner, fence = excluded.fence, until = excluded.until`,
			resource, owner, fence, now+ttl.Nanoseconds())
	})
	if err != nil {
		return 0, err
	}
	return fence, nil
}

// TakeOverLease takes the lease for ttl from any owner and returns the previous one; from is empty
// if there was none. The previous owner gets [ErrLost] from then on.
func (j *Journal) TakeOverLease(ctx context.Context, resource, owner string, ttl time.Duration) (from string,
	err error) {
	const op = "take over the lease"
	err = j.runWrite(ctx, op, resource, func(tx *tx) error {
		held, now := lease{}, j.nowNanos()
		err := tx.queryRow(`SELECT owner, fence, until FROM leases WHERE resource = ?`, resource).Scan(&held.owner,
			&held.fence, &held.until)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if held.owner != owner && held.until > now {
			from = held.owner
		}
		return tx.exec(`INSERT INTO leases (resource, owner, fence, until) VALUES (?, ?, ?, ?)
			ON CONFLICT (resource) DO UPDATE SET owner = excluded.owner, fence = excluded.fence, until = excluded.until`,
			resource, owner, held.fence+1, now+ttl.Nanoseconds())
	})
	return from, err
}

// CheckLease returns [ErrLost] if owner no longer owns the lease under fence. It writes no row. An
// expired lease that no other process took is still owned.
func (j *Journal) CheckLease(ctx context.Context, resource, owner string, fence int64) error {
	const op = "check the lease"
	all, err := listRows(ctx, j, op, resource, scanLease, `SELECT owner, fence, until FROM leases WHERE resource = ?`,
		resource)
	if err == nil && (len(all) == 0 || all[0].owner != owner || all[0].fence != fence) {
		return lostLeaseError(op, resource)
	}
	return err
}

func lostLeaseError(op, resource string) error {
	return &sluice.Error{Op: op, Resource: resource, Kind: sluice.LostClaim, Err: ErrLost,
		Next: "run sluice status to see which process runs the deployment, before you continue it here"}
}

func heldLeaseError(op, resource string, l lease) error {
	return &sluice.Error{
		Op: op, Resource: resource, Kind: sluice.Overtaken,
		Err:  &HeldError{Resource: resource, Owner: l.owner, Until: timeOfNanos(l.until)},
		Next: "wait until the other deployment has ended, or abort it: sluice abort",
	}
}

// Renew extends the lease to ttl from now. An expired lease can be renewed as long as no other
// process took it; otherwise Renew returns [ErrLost].
func (j *Journal) Renew(ctx context.Context, resource, owner string, fence int64, ttl time.Duration) error {
	return j.updateLease(ctx, "renew the lease", resource, owner, fence, j.clock.Now().Add(ttl).UnixNano(), owner)
}

// Release gives up the lease. If owner no longer owns it, Release returns [ErrLost].
func (j *Journal) Release(ctx context.Context, resource, owner string, fence int64) error {
	return j.updateLease(ctx, "release the lease", resource, owner, fence, 0, "")
}

// updateLease sets the lease's owner to then if owner owns it under fence.
func (j *Journal) updateLease(ctx context.Context, op, resource, owner string, fence, until int64, then string) error {
	return j.runWrite(ctx, op, resource, func(tx *tx) error {
		err := tx.execOrNotFound(
			`UPDATE leases SET owner = ?, until = ? WHERE resource = ? AND owner = ? AND fence = ?`,
			then, until, resource, owner, fence)
		if errors.Is(err, ErrNotFound) {
			return lostLeaseError(op, resource)
		}
		return err
	})
}

// Holder returns the owner of the lease on resource and its expiry; both are empty if the lease is
// free or expired.
func (j *Journal) Holder(ctx context.Context, resource string) (owner string, until time.Time, err error) {
	all, err := listRows(ctx, j, "read the lease", resource, scanLease,
		`SELECT owner, fence, until FROM leases WHERE resource = ? AND owner <> '' AND until > ?`, resource,
		j.nowNanos())
	if err != nil || len(all) == 0 {
		return "", time.Time{}, err
	}
	return all[0].owner, timeOfNanos(all[0].until), nil
}

func scanLease(row scanner) (lease, error) {
	var l lease
	err := row.Scan(&l.owner, &l.fence, &l.until)
	return l, err
}
