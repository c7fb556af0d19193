package memory

import (
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// Routes is what the deployment wrote to the routes.
type Routes struct {
	// Fingerprints are those of the listener rules, by ARN. They are nil before the first write.
	Fingerprints map[string]RuleFingerprint `json:"fingerprints"`
	// ShiftedAt is when shares were written last, by weights or by registered tasks.
	ShiftedAt time.Time `json:"shiftedAt,omitzero"`
}

// RuleFingerprint is our fingerprint of a rule: of the actions written last, and of those before
// that until the write is known to have taken effect. Any other fingerprint means that another
// actor edited the rule.
type RuleFingerprint struct {
	Written  string `json:"is"`
	Previous string `json:"was,omitempty"`
	Stage    int    `json:"stage"`           // index of the stage that wrote it
	Verified bool   `json:"known,omitempty"` // it was read back: the fingerprint before is no longer ours
	// Unanswered are the shapes of calls without a response, because a process was killed in the
	// call. AWS may still carry out such a call after later ones.
	Unanswered []string `json:"late,omitempty"`
}

// IsOwn reports whether a fingerprint is ours as seen from a stage. A finished stage has read back
// what it wrote. With back, for a rollback, the fingerprint of a stale read is ours too.
func (m RuleFingerprint) IsOwn(print string, stage int, back bool) bool {
	return print == m.Written || print == m.Previous && (back || stage == m.Stage && !m.Verified) ||
		slices.Contains(m.Unanswered, print)
}

// WithPending is the fingerprint once another shape is about to be written.
func (m RuleFingerprint) WithPending(live, next string, stage int) RuleFingerprint {
	if next != m.Written || stage != m.Stage {
		return RuleFingerprint{Written: next, Previous: live, Stage: stage, Unanswered: m.Unanswered}
	}
	if !slices.Contains(m.Unanswered, next) {
		m.Unanswered = append(slices.Clone(m.Unanswered), next)
	}
	m.Verified = false
	return m
}

// Names is what the deployment did to the instances of a Cloud Map name. Three sets of instances
// are saved: those that sluice deregistered, those that sluice registered, and those that stay as
// another actor left them.
type Names struct {
	MaintainedShare int `json:"maintainedShare,omitempty"` // percent of the canary
	// Deregistered are the attributes of instances of the primary, by ID.
	Deregistered Records `json:"deregistered,omitempty"`
	// StaysDeregistered is true once ECS is known not to register deregistered instances again.
	StaysDeregistered bool `json:"staysDeregistered,omitempty"`
	// DeregisteredSince is the index of a stage that began with deregistered instances.
	DeregisteredSince *int     `json:"deregisteredSince,omitempty"`
	Registered        []string `json:"registered,omitempty"` // of the canary, without the common prefix
	Unmanaged         []string `json:"unmanaged,omitempty"`
}

// Records are attributes of instances, by ID. Attributes that all of them share are saved once, the
// others by instance.
type Records map[string]map[string]string

// packedRecords is the saved form of Records.
type packedRecords struct {
	All  map[string]string            `json:"all,omitempty"`
	Each map[string]map[string]string `json:"each,omitempty"`
}

// MarshalJSON returns the saved form.
func (r Records) MarshalJSON() ([]byte, error) {
	t := packedRecords{Each: map[string]map[string]string{}}
	ids := slices.Sorted(maps.Keys(r))
	if len(ids) > 0 {
		t.All = maps.Clone(r[ids[0]])
	}
	for _, id := range ids {
		maps.DeleteFunc(t.All, func(k, v string) bool { w, ok := r[id][k]; return !ok || w != v })
	}
	for _, id := range ids {
		t.Each[id] = maps.Clone(r[id])
		maps.DeleteFunc(t.Each[id], func(k, _ string) bool { _, all := t.All[k]; return all })
	}
	return json.Marshal(t)
}

// UnmarshalJSON reads the saved form.
func (r *Records) UnmarshalJSON(data []byte) error {
	var t packedRecords
	if err := json.Unmarshal(data, &t); err != nil {
		return err
	}
	*r = Records{}
	for id, each := range t.Each {
		all := maps.Clone(t.All)
		if all == nil {
			all = map[string]string{}
		}
		maps.Copy(all, each)
		(*r)[id] = all
	}
	return nil
}
