package world

import (
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/awssim/image"
)

// Tx is one step of the world in one Region. Do not keep it after the function that it was passed
// to.
type Tx struct {
	*Region
	w        *World
	changes  []Change
	notified []Change // changes of this step that the watchers have seen, for the invariants
}

// Now returns the time of the step, in UTC.
func (tx *Tx) Now() time.Time { return tx.w.now }

// Settings returns the world's delays and switches.
func (tx *Tx) Settings() *Settings { return &tx.w.settings }

// HasDataPlane reports whether a data plane carries out effects.
func (tx *Tx) HasDataPlane() bool { return tx.w.sink != nil }

// Emit passes an effect to the data plane, if there is one.
func (tx *Tx) Emit(e Effect) { tx.w.emitEffect(e) }

// Image returns the behaviour of a container image; ok is false for an unknown image.
func (tx *Tx) Image(ref string) (image.Behaviour, bool) { return tx.w.images.Lookup(ref) }

// LacksRole reports whether a role, given by its ARN or its name, surely does not exist in this account.
func (tx *Tx) LacksRole(role string) bool {
	of := tx.Key.GlobalARN("iam", "role/")
	if !strings.HasPrefix(role, "arn:") {
		role = of + role
	}
	return strings.HasPrefix(role, of) && !slices.Contains(tx.w.roles, role) &&
		slices.ContainsFunc(tx.w.roles, func(known string) bool { return strings.HasPrefix(known, of) })
}

// Change is one change of a resource.
type Change struct {
	Kind ChangeKind
	// *Service, *TaskSet, *Task, *TargetGroup, *Target, *Listener, *LoadBalancer, *Alarm, *Namespace,
	// *Registry, *Instance
	Object any
}

func (c Change) String() string { return fmt.Sprintf("%s %T", c.Kind, c.Object) }

// ChangeKind is a kind of [Change].
type ChangeKind string

const (
	ServiceChanged  ChangeKind = "service"  // desired count, status, settings
	TaskSetChanged  ChangeKind = "task set" // created, scaled, promoted, deleted
	TaskChanged     ChangeKind = "task"     // last status, desired status, health
	GroupChanged    ChangeKind = "group"    // settings, attributes, created, deleted
	TargetChanged   ChangeKind = "target"   // state, registered, deregistered, removed
	RoutingChanged  ChangeKind = "routing"  // a listener's rules or actions
	BalancerChanged ChangeKind = "balancer" // load balancer or its listeners added or removed
	FaultsChanged   ChangeKind = "trouble"  // capacity or zone lost or restored
)

// Changed notifies every watcher before the step ends.
func (tx *Tx) Changed(kind ChangeKind, object any) {
	tx.changes = append(tx.changes, Change{kind, object})
}

// Random returns a number in [0,1). The same seed, Region, purpose, object and n give the same
// number: a call added elsewhere does not change it.
func (tx *Tx) Random(purpose, object string, n int) float64 {
	return float64(tx.randomBits(purpose, object, n)>>11) / (1 << 53)
}

// RandomBetween returns a random duration in [lo, hi].
func (tx *Tx) RandomBetween(lo, hi time.Duration, purpose, object string, n int) time.Duration {
	if hi <= lo {
		return lo
	}
	return lo + time.Duration(tx.Random(purpose, object, n)*float64(hi-lo))
}

func (tx *Tx) randomBits(purpose, object string, n int) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d\x00%s\x00%s\x00%s\x00%s\x00%d", tx.w.seed, tx.Key.Account, tx.Key.Region, purpose, object, n)
	return mixBits(h.Sum64())
}

// mixBits is the finalizer of splitmix64: FNV alone is weak in its high bits.
func mixBits(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// ReserveID keeps an identifier from [Tx.NewHex]: a world file gives it to a resource. It may come from a
// world with the same seed.
func (tx *Tx) ReserveID(id string) {
	if tx.reserved == nil {
		tx.reserved = map[string]bool{}
	}
	tx.reserved[id] = true
}

// NewHex returns a new identifier of n hexadecimal digits, counted per purpose.
func (tx *Tx) NewHex(purpose string, n int) string {
	for {
		if id := tx.nextHex(purpose, n); !tx.reserved[id] {
			return id
		}
	}
}

func (tx *Tx) nextHex(purpose string, n int) string {
	c := tx.nextCount("hex " + purpose)
	var b []byte
	for i := 0; len(b)*2 < n; i++ {
		x := tx.randomBits("hex", purpose, c<<8|i)
		for s := 56; s >= 0; s -= 8 {
			b = append(b, byte(x>>s))
		}
	}
	return hex.EncodeToString(b)[:n]
}

// NewDigits returns a new identifier of n decimal digits without a leading zero.
func (tx *Tx) NewDigits(purpose string, n int) string {
	c := tx.nextCount("digits " + purpose)
	b := make([]byte, n)
	for i := range b {
		x := tx.randomBits("digits", purpose, c<<8|i)
		b[i] = '0' + byte(x%10)
		if i == 0 {
			b[i] = '1' + byte(x%9)
		}
	}
	return string(b)
}

// NewUUID returns a new identifier in the form of a UUID.
func (tx *Tx) NewUUID(purpose string) string {
	h := tx.NewHex(purpose, 32)
	return h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-a" + h[17:20] + "-" + h[20:]
}

// NextCount returns the next number of a counter of this Region, from 0.
func (tx *Tx) NextCount(name string) int { return tx.nextCount(name) }

func (r *Region) nextCount(name string) int {
	if r.counters == nil {
		r.counters = map[string]int{}
	}
	n := r.counters[name]
	r.counters[name] = n + 1
	return n
}

// ARN builds an Amazon Resource Name of this account and Region.
func (r *Region) ARN(service, resource string) string {
	return r.Key.ARN(service, resource)
}
