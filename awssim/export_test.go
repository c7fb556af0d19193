package awssim

import "github.com/sluice-ecs/sluice/awssim/wire"

// StaleReads are the operations of all services that can be answered from the past,
// as "ecs:DescribeServices".
func StaleReads(s *Sim) (all []string) {
	for _, o := range s.current.Load().operations {
		if wire.IsRead(o.name) {
			all = append(all, o.service+":"+o.name)
		}
	}
	return all
}
