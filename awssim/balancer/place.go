package balancer

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// Add creates a load balancer in the world. It sets an address and a DNS name, and makes it active
// after a random delay. The caller sets ARN, name, type, zones, subnets and attributes.
func (l *Law) Add(tx *world.Tx, lb *world.LoadBalancer) {
	lb.Address = stateOf(tx).takeAddress(tx.Index)
	lb.DNSName = lb.Address
	if !tx.Listening() {
		lb.DNSName = amazonName(tx, lb)
	}
	lb.State = "provisioning"
	tx.LoadBalancers.Put(lb.ARN, lb)
	tx.Log("balancer", lb.Name, "created, %s", lb.Type)
	k := tx.Knobs().LoadBalancerProvisioning
	d := tx.Between(k.Min, k.Max, "load balancer provisioning", lb.ARN, 0)
	if d == 0 {
		activate(tx, lb)
		return
	}
	tx.Changed(world.BalancerChanged, lb)
	tx.After(d, func(tx *world.Tx) {
		if lb.State == "provisioning" {
			activate(tx, lb)
		}
	})
}

func activate(tx *world.Tx, lb *world.LoadBalancer) {
	lb.State = "active"
	tx.Log("balancer", lb.Name, "active")
	tx.Changed(world.BalancerChanged, lb)
}

// Remove deletes a load balancer and its listeners.
func (l *Law) Remove(tx *world.Tx, lb *world.LoadBalancer) {
	for _, ls := range slices.Clone(lb.Listeners) {
		tx.RemoveListener(ls)
	}
	tx.LoadBalancers.Delete(lb.ARN)
	s := stateOf(tx)
	s.freed = append(s.freed, placeOf(lb.Address))
	tx.Log("balancer", lb.Name, "deleted")
	tx.Changed(world.BalancerChanged, lb)
}

// awsDNSName returns a DNS name in AWS's form. It does not resolve in the simulator.
func amazonName(tx *world.Tx, lb *world.LoadBalancer) string {
	digits := tx.NewDigits("load balancer name", 10)
	if lb.Type == "network" {
		return lb.Name + "-" + digits + ".elb." + tx.Key.Region + ".amazonaws.com"
	}
	return lb.Name + "-" + digits + "." + tx.Key.Region + ".elb.amazonaws.com"
}

// balancerAddresses is the number of load balancer addresses. They are the upper part of the
// default network, from 127.16.240.1 upward. Released addresses are used again when no other one is
// free.
const addressPlaces = 16*256 - 2

func (s *state) takeAddress(region int) string {
	if s.addresses < addressPlaces {
		s.addresses++
		return addressAt(region, s.addresses)
	}
	if len(s.freed) == 0 {
		return addressAt(region, addressPlaces)
	}
	n := s.freed[0]
	s.freed = s.freed[1:]
	return addressAt(region, n)
}

func addressAt(region, n int) string {
	base := world.DefaultNetwork(region).Addr().As4()
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], binary.BigEndian.Uint32(base[:])+240*256+uint32(n))
	return netip.AddrFrom4(b).String()
}

func placeOf(address string) int {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return addressPlaces
	}
	b := a.As4()
	return int(binary.BigEndian.Uint16(b[2:])) - 240*256
}

// SetBound records where a listener's socket is; "" means that it has none. If all ports of a load
// balancer are bound at its own address and at their own numbers, its DNS name is that address.
// Otherwise it is the "host:port" of the first listener that is bound elsewhere.
func (l *Law) Bound(tx *world.Tx, lbARN string, port int32, addr string) {
	lb, ok := tx.LoadBalancers.Get(lbARN)
	if !ok {
		return
	}
	lb.DNSName = lb.Address
	moved := false
	for _, ls := range lb.Listeners {
		if ls.Port == port {
			ls.Bound = addr
		}
		if !moved && ls.Bound != "" && ls.Bound != ownAddress(lb, ls) {
			lb.DNSName, moved = ls.Bound, true
		}
	}
}

func ownAddress(lb *world.LoadBalancer, ls *world.Listener) string {
	a, err := netip.ParseAddr(strings.TrimSpace(lb.Address))
	if err != nil {
		return ""
	}
	return netip.AddrPortFrom(a, uint16(ls.Port)).String()
}
