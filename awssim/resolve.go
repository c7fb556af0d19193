package awssim

import (
	"net/netip"
	"time"

	"github.com/sluice-ecs/sluice/awssim/cloudmap"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// Resolve returns one answer of the name servers for a Cloud Map name, as the next caller without a
// cache gets it. It returns the addresses in the order of the answer, with the port of SRV records
// (otherwise 0), and their TTL. kind is A, AAAA or SRV. Resolve needs no sockets and takes no time;
// its random order follows the seed. The list is empty if the name does not exist or has no such
// record.
func (s *Sim) Resolve(name, kind string) (found []netip.AddrPort, ttl time.Duration) {
	e := s.current.Load()
	e.world.Advance() // run due events first
	t, entry, _ := e.cloudMap.LookUp(name)
	if entry == nil {
		return nil, 0
	}
	ttl, _ = entry.TTL(kind)
	_ = e.world.Do(t.Key, func(tx *world.Tx) error {
		n := tx.NextCount("resolve " + entry.ID)
		for _, v := range entry.AnswerQuestion(kind,
			func(i int) float64 { return tx.Random("resolve", entry.ID, n<<10|i) }) {
			found = append(found, addressOf(v, kind))
		}
		return nil
	})
	return found, ttl
}

func addressOf(v *cloudmap.View, kind string) netip.AddrPort {
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
