package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// firstEarlier returns the keys of which an earlier version saved at least one before all others:
// the state before the first write, the claim that a deployment replaces, the first registration or
// the first tasks of a plan without a service, or the end of a stage that found no work.
func firstEarlier() []string {
	return []string{"former", "left-by", "registering", "registering of 0", "tasks of 0", "done"}
}

// hasEarlier reports whether an earlier version of sluice saved rows of this deployment. Any record
// answers that. Before the first record, the rows themselves do.
func (m *Memory) hasEarlier(ctx context.Context) (bool, error) {
	m.mu.Lock()
	known := m.earlier
	m.mu.Unlock()
	if known != unknown {
		return known == yes, nil
	}
	found := false
	for _, key := range firstEarlier() {
		r, err := m.loadRow(ctx, key)
		if err != nil {
			return false, err
		}
		if found = r.found; found {
			break
		}
	}
	m.noteEarlier(found)
	return found, nil
}

func (m *Memory) noteEarlier(found bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.earlier = no; found {
		m.earlier = yes
	}
}

// earlierPart reads one value of an earlier version into to, and adds to found whether there is
// one.
type earlierPart struct {
	key string
	to  any // nil: only its presence matters
	has *bool
}

// readParts reads values of an earlier version. ok is false if there is none of them.
func readParts(ctx context.Context, m *Memory, parts ...earlierPart) (ok bool, err error) {
	for _, p := range parts {
		r, err := m.loadRow(ctx, p.key)
		if err != nil {
			return false, err
		}
		if p.has != nil {
			*p.has = r.found
		}
		if !r.found {
			continue
		}
		if ok = true; p.to == nil {
			continue
		}
		if err := json.Unmarshal(r.data, p.to); err != nil {
			return false, fmt.Errorf("read the saved value %s: %w", p.key, err)
		}
	}
	return ok, nil
}

func earlierSnapshot(ctx context.Context, m *Memory) (v Snapshot, ok bool, err error) {
	ok, err = readParts(ctx, m, earlierPart{key: "former", to: &v})
	return v, ok, err
}

func earlierProgress(ctx context.Context, m *Memory) (v Progress, ok bool, err error) {
	ok, err = readParts(ctx, m, earlierPart{key: "done", to: &v.Done})
	return v, ok, err
}

func earlierRegistration(revision, begun string) func(context.Context, *Memory) (Registration, bool, error) {
	return func(ctx context.Context, m *Memory) (v Registration, ok bool, err error) {
		var rev *ecs.Revision
		ok, err = readParts(ctx, m, earlierPart{key: revision, to: &rev}, earlierPart{key: begun, has: &v.Begun})
		v.Revision = rev
		return v, ok, err
	}
}

func earlierClaim(ctx context.Context, m *Memory) (v Claim, ok bool, err error) {
	var taken *TakenClaim
	var previous *plan.Claim
	ok, err = readParts(ctx, m, earlierPart{key: "claimed", to: &v.Claimed},
		earlierPart{key: "taken-over", to: &taken}, earlierPart{key: "left-by", to: &previous})
	v.TakenOver, v.Previous = taken, previous
	return v, ok, err
}

func earlierCanary(ctx context.Context, m *Memory) (v Canary, ok bool, err error) {
	ok, err = readParts(ctx, m, earlierPart{key: "canary-generation", to: &v.Generation},
		earlierPart{key: "canary-count", to: &v.Count})
	return v, ok, err
}

func earlierPrimary(ctx context.Context, m *Memory) (v Primary, ok bool, err error) {
	ok, err = readParts(ctx, m, earlierPart{key: "new-primary", to: &v.Progress},
		earlierPart{key: "kept-old", to: &v.Kept})
	return v, ok, err
}

func earlierRoutes(ctx context.Context, m *Memory) (v Routes, ok bool, err error) {
	var at time.Time
	ok, err = readParts(ctx, m, earlierPart{key: "rule-prints", to: &v.Fingerprints},
		earlierPart{key: "shifted-at", to: &at})
	v.ShiftedAt = at
	return v, ok, err
}

func earlierNames(ctx context.Context, m *Memory) (v Names, ok bool, err error) {
	var kept struct {
		IDs []string `json:"ids"`
	}
	ok, err = readParts(ctx, m, earlierPart{key: "held-share", to: &v.MaintainedShare},
		earlierPart{key: "taken-out", to: &v.Deregistered}, earlierPart{key: "stays-out", to: &v.StaysDeregistered},
		earlierPart{key: "out-since", to: &v.DeregisteredSince}, earlierPart{key: "put-in", to: &v.Registered},
		earlierPart{key: "left-as-they-are", to: &kept})
	v.Unmanaged = kept.IDs
	return v, ok, err
}

func earlierRolling(ctx context.Context, m *Memory) (v Rolling, ok bool, err error) {
	ok, err = readParts(ctx, m, earlierPart{key: "asked", to: &v.Update}, earlierPart{key: "stopped", to: &v.Stop})
	return v, ok, err
}

func earlierCodeDeploy(ctx context.Context, m *Memory) (v CodeDeploy, ok bool, err error) {
	ok, err = readParts(ctx, m, earlierPart{key: "codedeploy", to: &v.Forward},
		earlierPart{key: "codedeploy-return", to: &v.Return})
	return v, ok, err
}

func earlierScaling(ctx context.Context, m *Memory) (v Scaling, ok bool, err error) {
	ok, err = readParts(ctx, m, earlierPart{key: "scaling", to: &v.Override},
		earlierPart{key: "scaling-back", to: &v.Rollback})
	return v, ok, err
}

func earlierExternal(ctx context.Context, m *Memory) (v External, ok bool, err error) {
	ok, err = readParts(ctx, m, earlierPart{key: "accepted", to: &v})
	return v, ok, err
}

func earlierRollback(ctx context.Context, m *Memory) (v Rollback, ok bool, err error) {
	ok, err = readParts(ctx, m, earlierPart{key: "restored-generation", to: &v.Restarts},
		earlierPart{key: "not-restored", to: &v.NotRestored})
	return v, ok, err
}

func earlierLaunch(key string) func(context.Context, *Memory) (Launch, bool, error) {
	return func(ctx context.Context, m *Memory) (v Launch, ok bool, err error) {
		ok, err = readParts(ctx, m, earlierPart{key: key, to: &v})
		return v, ok, err
	}
}
