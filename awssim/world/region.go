package world

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"time"
)

// Region is the state of one account in one Region. Tables are keyed by ARN if the resource has
// one, otherwise as their comment says.
type Region struct {
	Key   Key
	Index int // order of creation, from 0; selects the range of the default network

	Clusters        Ordered[*Cluster] // by name
	Services        Ordered[*Service] // by "<cluster>/<service>"; the newest of that name
	TaskDefinitions Ordered[*TaskDefinition]
	Tasks           Ordered[*Task] // stopped ones for StoppedTaskRetention
	TasksByAddress  map[netip.Addr]*Task

	LoadBalancers Ordered[*LoadBalancer]
	Listeners     Ordered[*Listener]
	Rules         Ordered[*Rule]
	TargetGroups  Ordered[*TargetGroup]

	Alarms     Ordered[*Alarm]    // by name
	AlarmNotes []AlarmNote        // oldest first; see [Tx.NoteAlarm]
	LogGroups  Ordered[*LogGroup] // by name
	Functions  Ordered[*Function] // by name

	Namespaces Ordered[*Namespace] // of Cloud Map, by id
	Registries Ordered[*Registry]  // services of Cloud Map

	Repositories Ordered[*Repository] // of ECR, by name

	VPCs    Ordered[*VPC]    // by id
	Subnets Ordered[*Subnet] // by id

	ActiveFaults ActiveFaults

	requestSources []func(now time.Time) // see [Tx.AddRequestSource]

	counters     map[string]int
	reserved     map[string]bool // see [Tx.ReserveID]
	privateState map[string]any
}

// PrivateState returns the state that one API or controller keeps in this Region. It is created at
// first use.
func PrivateState[T any](r *Region, name string) *T {
	if r.privateState == nil {
		r.privateState = map[string]any{}
	}
	if s, ok := r.privateState[name]; ok {
		return s.(*T)
	}
	s := new(T)
	r.privateState[name] = s
	return s
}

// VPC is a network.
type VPC struct {
	ID      string
	CIDR    netip.Prefix
	Default bool
}

// Subnet is a subnet in one Availability Zone. Tasks get their addresses from it.
type Subnet struct {
	ID, VPC, Zone string
	CIDR          netip.Prefix
	Default       bool // one of the default network
	next          uint32
	free          []netip.Addr
}

// DefaultNetwork returns the range of the default VPC of the n-th Region: 127.16.0.0/16,
// 127.17.0.0/16, … Each task's private address is therefore a loopback address that a process can
// listen on.
func DefaultNetwork(n int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{127, byte(16 + n%200), 0, 0}), 16)
}

// TakeAddress returns a free address of the subnet, from the fifth address on as on AWS. ok is
// false when the subnet is full.
func (s *Subnet) TakeAddress() (netip.Addr, bool) {
	if n := len(s.free); n > 64 {
		a := s.free[0]
		s.free = s.free[1:]
		return a, true
	}
	base := binary.BigEndian.Uint32(s.CIDR.Addr().AsSlice())
	size := uint32(1) << (32 - s.CIDR.Bits())
	if s.next < 4 {
		s.next = 4
	}
	if s.next >= size-1 {
		if len(s.free) == 0 {
			return netip.Addr{}, false
		}
		a := s.free[0]
		s.free = s.free[1:]
		return a, true
	}
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], base+s.next)
	s.next++
	return netip.AddrFrom4(b), true
}

// ReleaseAddress returns an address to the subnet. It is used again late, as on AWS.
func (s *Subnet) ReleaseAddress(a netip.Addr) { s.free = append(s.free, a) }

// ActiveFaults are the faults of the Region that controllers read.
type ActiveFaults struct {
	NoCapacity map[string]bool // by cluster name, "*" for all: no task can be placed
	ZonesLost  map[string]bool // by Availability Zone: its tasks stop, none can start
	SlowStart  []SlowStart
}

// SlowStart delays the task starts of a service.
type SlowStart struct {
	Service string // name, "*" for all
	By      Seconds
}

// Seconds is a duration in (virtual) seconds.
type Seconds float64

func (k Key) String() string { return fmt.Sprintf("%s/%s", k.Account, k.Region) }
