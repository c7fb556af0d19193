package loadbalancer

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// Add creates a load balancer in the world. It sets an address and a DNS name, and makes it active
// after a random delay. The caller sets ARN, name, type, zones, subnets and attributes.
func (l *Controller) Add(tx *world.Tx, lb *world.LoadBalancer) {
	lb.Address = stateOf(tx).takeAddress(tx.Index)
	lb.DNSName = lb.Address
	if !tx.HasDataPlane() {
		lb.DNSName = awsDNSName(tx, lb)
	}
	lb.State = "provisioning"
	tx.LoadBalancers.Put(lb.ARN, lb)
	tx.Log("balancer", lb.Name, "created, %s", lb.Type)
	k := tx.Settings().LoadBalancerProvisioning
	d := tx.RandomBetween(k.Min, k.Max, "load balancer provisioning", lb.ARN, 0)
	if d == 0 {
		activateBalancer(tx, lb)
		return
	}
	tx.Changed(world.BalancerChanged, lb)
	tx.After(d, func(tx *world.Tx) {
		if lb.State == "provisioning" {
			activateBalancer(tx, lb)
		}
	})
}

func activateBalancer(tx *world.Tx, lb *world.LoadBalancer) {
	lb.State = "active"
	tx.Log("balancer", lb.Name, "active")
	tx.Changed(world.BalancerChanged, lb)
}

// Remove deletes a load balancer and its listeners.
func (l *Controller) Remove(tx *world.Tx, lb *world.LoadBalancer) {
	for _, ls := range slices.Clone(lb.Listeners) {
		tx.RemoveListener(ls)
	}
	tx.LoadBalancers.Delete(lb.ARN)
	s := stateOf(tx)
	s.freeIndexes = append(s.freeIndexes, addressIndex(lb.Address))
	tx.Log("balancer", lb.Name, "deleted")
	tx.Changed(world.BalancerChanged, lb)
}

// awsDNSName returns a DNS name in AWS's form. It does not resolve in the simulator.
func awsDNSName(tx *world.Tx, lb *world.LoadBalancer) string {
	digits := tx.NewDigits("load balancer name", 10)
	if lb.Type == "network" {
		return lb.Name + "-" + digits + ".elb." + tx.Key.Region + "." + tx.Key.DNSSuffix()
	}
	return lb.Name + "-" + digits + "." + tx.Key.Region + ".elb." + tx.Key.DNSSuffix()
}

// balancerAddresses is the number of load balancer addresses. They are the upper part of the
// default network, from 127.16.240.1 upward. Released addresses are used again when no other one is
// free.
const balancerAddresses = 16*256 - 2

func (s *state) takeAddress(region int) string {
	if s.addresses < balancerAddresses {
		s.addresses++
		return addressAt(region, s.addresses)
	}
	if len(s.freeIndexes) == 0 {
		return addressAt(region, balancerAddresses)
	}
	n := s.freeIndexes[0]
	s.freeIndexes = s.freeIndexes[1:]
	return addressAt(region, n)
}

func addressAt(region, n int) string {
	base := world.DefaultNetwork(region).Addr().As4()
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], binary.BigEndian.Uint32(base[:])+240*256+uint32(n))
	return netip.AddrFrom4(b).String()
}

func addressIndex(address string) int {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return balancerAddresses
	}
	b := a.As4()
	return int(binary.BigEndian.Uint16(b[2:])) - 240*256
}

// SetBound records where a listener's socket is; "" means that it has none. If all ports of a load
// balancer are bound at its own address and at their own numbers, its DNS name is that address.
// Otherwise it is the "host:port" of the first listener that is bound elsewhere.
func (l *Controller) SetBound(tx *world.Tx, lbARN string, port int32, addr string) {
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
