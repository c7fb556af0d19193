package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-ecs/sluice"
)

// ErrHeld is in the tree of Acquire's error when another owner holds the lease;
// [errors.As] with a *[HeldError] tells who and until when.
var ErrHeld = errors.New("it is held by another")

// ErrLost is in the tree of an error about a lease that is not held any more
// under the fence given: it was released, or taken by somebody else.
var ErrLost = errors.New("the lease is not ours any more")

// HeldError says who holds a lease.
type HeldError struct {
	Resource string
	Owner    string
	Until    time.Time
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("it is held by %s until %s", e.Owner, e.Until.Format(time.RFC3339))
}

// Is makes a HeldError an [ErrHeld].
func (e *HeldError) Is(target error) bool { return target == ErrHeld }

// lease is a row of leases.
type lease struct {
	owner string
	fence int64
	until int64
}

// Acquire takes the lease on resource for ttl. The fence grows with each
// Acquire, also of the same owner: who holds an older one, such as a process
// that was thought dead, gets [ErrLost] from then on. A lease that another owner
// holds and that has not expired is [ErrHeld].
func (j *Journal) Acquire(ctx context.Context, resource, owner string, ttl time.Duration) (fence int64, err error) {
	const op = "take the lease"
	if owner == "" {
		return 0, &sluice.Error{Op: op, Resource: resource, Err: errors.New("its owner has no name")}
	}
	err = j.write(ctx, op, resource, func(tx *tx) error {
		held, now := lease{}, j.now()
		err := tx.row(`SELECT owner, fence, until FROM leases WHERE resource = ?`, resource).Scan(&held.owner, &held.fence, &held.until)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if held.owner != "" && held.owner != owner && held.until > now {
			return heldBy(op, resource, held)
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

// Seize takes the lease for ttl whoever holds it, and says from whom; from is
// empty if nobody held it. The former holder gets [ErrLost] from then on.
func (j *Journal) Seize(ctx context.Context, resource, owner string, ttl time.Duration) (from string, err error) {
	const op = "take the lease over"
	err = j.write(ctx, op, resource, func(tx *tx) error {
		held, now := lease{}, j.now()
		err := tx.row(`SELECT owner, fence, until FROM leases WHERE resource = ?`, resource).Scan(&held.owner, &held.fence, &held.until)
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

// Holds is [ErrLost] if the lease is not owner's under fence any more. It writes
// nothing. A lease that has run out and that nobody took is still held.
func (j *Journal) Holds(ctx context.Context, resource, owner string, fence int64) error {
	const op = "look at the lease"
	all, err := list(ctx, j, op, resource, scanLease, `SELECT owner, fence, until FROM leases WHERE resource = ?`, resource)
	if err == nil && (len(all) == 0 || all[0].owner != owner || all[0].fence != fence) {
		return lost(op, resource)
	}
	return err
}

func lost(op, resource string) error {
	return &sluice.Error{Op: op, Resource: resource, Kind: sluice.LostClaim, Err: ErrLost,
		Next: "see who runs the deployment now, before going on with it here"}
}

func heldBy(op, resource string, l lease) error {
	return &sluice.Error{
		Op: op, Resource: resource, Kind: sluice.Overtaken,
		Err:  &HeldError{Resource: resource, Owner: l.owner, Until: instant(l.until)},
		Next: "wait until it has ended, or abort it",
	}
}

// Renew holds the lease for another ttl from now. One that has expired may be
// renewed as long as nobody took it; else it is [ErrLost].
func (j *Journal) Renew(ctx context.Context, resource, owner string, fence int64, ttl time.Duration) error {
	return j.holding(ctx, "renew the lease", resource, owner, fence, j.clock.Now().Add(ttl).UnixNano(), owner)
}

// Release gives the lease back; not being its holder any more is [ErrLost].
func (j *Journal) Release(ctx context.Context, resource, owner string, fence int64) error {
	return j.holding(ctx, "release the lease", resource, owner, fence, 0, "")
}

// holding changes the lease if it is held by owner under fence.
func (j *Journal) holding(ctx context.Context, op, resource, owner string, fence, until int64, then string) error {
	return j.write(ctx, op, resource, func(tx *tx) error {
		err := tx.must(`UPDATE leases SET owner = ?, until = ? WHERE resource = ? AND owner = ? AND fence = ?`,
			then, until, resource, owner, fence)
		if errors.Is(err, ErrNotFound) {
			return lost(op, resource)
		}
		return err
	})
}

// Holder is who holds the lease on resource, and until when; both empty if
// nobody does.
func (j *Journal) Holder(ctx context.Context, resource string) (owner string, until time.Time, err error) {
	all, err := list(ctx, j, "read the lease", resource, scanLease,
		`SELECT owner, fence, until FROM leases WHERE resource = ? AND owner <> '' AND until > ?`, resource, j.now())
	if err != nil || len(all) == 0 {
		return "", time.Time{}, err
	}
	return all[0].owner, instant(all[0].until), nil
}

func scanLease(row scanner) (lease, error) {
	var l lease
	err := row.Scan(&l.owner, &l.fence, &l.until)
	return l, err
}
