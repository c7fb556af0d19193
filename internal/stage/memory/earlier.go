package memory

import (
	"context"
	"encoding/json"
	"fmt"
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

// earlierPart is one value of an earlier version.
type earlierPart struct {
	key string
	to  any   // gets the value; nil: only its presence matters
	has *bool // gets whether there is one; nil: that does not matter
}

// readParts reads values of an earlier version. ok is false if there is none of them.
func readParts(ctx context.Context, m *Memory, parts []earlierPart) (ok bool, err error) {
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

func earlierSnapshot(v *Snapshot) []earlierPart { return []earlierPart{{key: "former", to: v}} }

func earlierProgress(v *Progress) []earlierPart { return []earlierPart{{key: "done", to: &v.Done}} }

func earlierRegistration(revision, begun string) func(*Registration) []earlierPart {
	return func(v *Registration) []earlierPart {
		return []earlierPart{{key: revision, to: &v.Revision}, {key: begun, has: &v.Begun}}
	}
}

func earlierClaim(v *Claim) []earlierPart {
	return []earlierPart{{key: "claimed", to: &v.Claimed}, {key: "taken-over", to: &v.TakenOver},
		{key: "left-by", to: &v.Previous}}
}

func earlierCanary(v *Canary) []earlierPart {
	return []earlierPart{{key: "canary-generation", to: &v.Generation}, {key: "canary-count", to: &v.Count}}
}

func earlierPrimary(v *Primary) []earlierPart {
	return []earlierPart{{key: "new-primary", to: &v.Progress}, {key: "kept-old", to: &v.Kept}}
}

func earlierRoutes(v *Routes) []earlierPart {
	return []earlierPart{{key: "rule-prints", to: &v.Fingerprints}, {key: "shifted-at", to: &v.ShiftedAt}}
}

// earlierIDs is the form in which earlier versions saved a list of IDs.
type earlierIDs struct {
	IDs *[]string `json:"ids"`
}

func earlierNames(v *Names) []earlierPart {
	return []earlierPart{{key: "held-share", to: &v.MaintainedShare}, {key: "taken-out", to: &v.Deregistered},
		{key: "stays-out", to: &v.StaysDeregistered}, {key: "out-since", to: &v.DeregisteredSince},
		{key: "put-in", to: &v.Registered}, {key: "left-as-they-are", to: &earlierIDs{&v.Unmanaged}}}
}

func earlierRolling(v *Rolling) []earlierPart {
	return []earlierPart{{key: "asked", to: &v.Update}, {key: "stopped", to: &v.Stop}}
}

func earlierCodeDeploy(v *CodeDeploy) []earlierPart {
	return []earlierPart{{key: "codedeploy", to: &v.Forward}, {key: "codedeploy-return", to: &v.Return}}
}

func earlierScaling(v *Scaling) []earlierPart {
	return []earlierPart{{key: "scaling", to: &v.Override}, {key: "scaling-back", to: &v.Rollback}}
}

func earlierExternal(v *External) []earlierPart { return []earlierPart{{key: "accepted", to: v}} }

func earlierRollback(v *Rollback) []earlierPart {
	return []earlierPart{{key: "restored-generation", to: &v.Restarts}, {key: "not-restored", to: &v.NotRestored}}
}

func earlierLaunch(key string) func(*Launch) []earlierPart {
	return func(v *Launch) []earlierPart { return []earlierPart{{key: key, to: v}} }
}
