package awssim

import (
	"net/netip"
	"time"

	"github.com/sluice-ecs/sluice/awssim/registry"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// Resolve is one answer of the name servers for a name of Cloud Map, as the next
// caller without a cache would get it: addresses in the order of the answer, with
// the port of SRV records (else 0), and how long they may be kept. kind is A,
// AAAA or SRV. It needs no sockets, takes no time, and draws by the seed. The
// list is empty where the name has no such record, or is nobody's.
func (s *Sim) Resolve(name, kind string) (found []netip.AddrPort, ttl time.Duration) {
	e := s.now.Load()
	e.world.Advance() // what has fallen due is answered by
	t, entry, _ := e.names.Lookup(name)
	if entry == nil {
		return nil, 0
	}
	ttl, _ = entry.TTL(kind)
	_ = e.world.Do(t.Key, func(tx *world.Tx) error {
		n := tx.Count("resolve " + entry.ID)
		for _, v := range entry.Answer(kind, func(i int) float64 { return tx.Draw("resolve", entry.ID, n<<10|i) }) {
			found = append(found, addressOf(v, kind))
		}
		return nil
	})
	return found, ttl
}

func addressOf(v *registry.View, kind string) netip.AddrPort {
	switch {
	case kind == "AAAA":
		return netip.AddrPortFrom(v.V6, 0)
	case kind == "SRV" && v.Address.IsValid():
		return netip.AddrPortFrom(v.Address, uint16(v.Port))
	case kind == "SRV":
		return netip.AddrPortFrom(v.V6, uint16(v.Port))
	}
	return netip.AddrPortFrom(v.Address, 0)
}
